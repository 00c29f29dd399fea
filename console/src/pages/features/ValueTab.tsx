import type { Flag, FlagState, MultivariateOption, TypedValue } from '../../api/types'
import { write } from '../../api/write'
import { Overtaken } from '../../parts/Overtaken'
import { useFollowing } from '../../parts/useFollowing'
import { useForm } from '../../parts/useForm'
import { useOnce } from '../../parts/useOnce'
import { featureModels, save, shown, untyped, type Spot } from './flag'
import { NewVariant } from './NewVariant'
import { sameValue, ValueEditor } from './ValueEditor'
import { sum, Weights, weightsOf, type Weight } from './Weights'

interface Draft {
  value: TypedValue | null
  variants: Weight[]
}

/** ValueTab is what everybody gets whom no override concerns. */
export function ValueTab({ spot, flag }: { spot: Spot; flag: Flag }) {
  const { feature, project } = spot
  const options = feature.multivariate_options
  const saved = flag.environment_default
  const before: Draft = { value: saved.value, variants: weightsOf(options, saved.variants) }
  const { draft, setDraft, dirty, sending, discard, overtaken } = useFollowing(before, merged, `value of ${feature.id} in ${spot.environment.id}`)
  const valid = sum(draft.variants) <= 100 && (draft.value?.type !== 'integer' || /^-?\d+$/.test(draft.value.value))

  const form = useForm(() => {
    const state: Partial<FlagState> = {}
    const undo: Partial<FlagState> = {}
    if (!sameValue(draft.value, before.value)) [state.value, undo.value] = [draft.value, before.value]
    if (JSON.stringify(draft.variants) !== JSON.stringify(before.variants)) [state.variants, undo.variants] = [draft.variants, before.variants]
    const label = 'value' in state ? `${feature.name} set to ${shown(untyped(draft.value))}` : `Shares of ${feature.name} changed`
    return sending(() => save(spot, state, label, () => save(spot, undo, `${feature.name} as it was before`)))
  })
  const remove = useOnce(
    (o: MultivariateOption) =>
      write('DELETE', `/api/v1/projects/${project}/features/${feature.id}/mv-options/${o.id}/`, undefined, {
        label: `Variant removed from ${feature.name}, in all environments`,
        models: featureModels,
        environment: spot.environment.api_key,
      }),
    o => o.id,
  )

  return (
    <form class="form" onSubmit={form.onSubmit}>
      <section class="block">
        <h3>Value</h3>
        <ValueEditor label={`Value of ${feature.name}`} value={draft.value} change={value => setDraft({ ...draft, value })} />
      </section>
      <section class="block">
        <h3>Variants</h3>
        {options.length > 0 && (
          <Weights options={options} weights={draft.variants} change={variants => setDraft({ ...draft, variants })} rest="the value above" remove={remove} />
        )}
        <NewVariant spot={spot} />
      </section>
      <Overtaken back={overtaken} />
      <div class={`save-bar ${dirty ? '' : 'idle'}`}>
        <button type="button" class="button" disabled={!dirty} onClick={discard}>
          Discard
        </button>
        <button class="button primary" disabled={form.busy || !dirty || !valid}>
          Save
        </button>
      </div>
    </form>
  )
}

/** merged keeps what was typed but for what somebody else saved meanwhile. A variant that came or went is no reason to lose the rest. */
function merged(from: Draft, to: Draft, draft: Draft): Draft {
  const weight = (of: Draft, id: number) => of.variants.find(w => w.id === id)?.weight
  return {
    value: sameValue(from.value, to.value) ? draft.value : to.value,
    variants: to.variants.map(w => ({ id: w.id, weight: (weight(from, w.id) === w.weight ? weight(draft, w.id) : undefined) ?? w.weight })),
  }
}
