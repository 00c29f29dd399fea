import { useState } from 'preact/hooks'
import { useQuery } from '../../api/query'
import { get } from '../../api/request'
import type { Scalar } from '../../api/types'
import { write } from '../../api/write'
import { environmentLink } from '../../links'
import { count } from '../../parts/amount'
import { Field } from '../../parts/Field'
import { Icon } from '../../parts/Icon'
import { RemoveButton } from '../../parts/RemoveButton'
import { Switch } from '../../parts/Switch'
import { useForm } from '../../parts/useForm'
import { environmentPath, inputOf, overrideModels, removeOverride, saveOverride, whole, type Override } from '../identities/identity'
import { shown, stateModels, type Spot } from './flag'

interface Overridden {
  identifier: string
  identity_uuid: string
  feature_state: Override
}

interface Listed {
  results: Overridden[]
}

const step = 100 // the server gives all of them, which may be tens of thousands

/** IdentityOverrides are for single identities, and come before every segment. */
export function IdentityOverrides({ spot }: { spot: Spot }) {
  const { feature, environment } = spot
  const list = `${environmentPath(environment.api_key)}/edge-identity-overrides?feature=${feature.id}`
  const overrides = useQuery<Listed>(list, stateModels)
  const all = overrides.data?.results ?? []
  const [shownCount, setShownCount] = useState(step)
  // By uuid: an identifier that begins or ends with blanks, as clients may send it, would come without them and be another identity's.
  const whose = (o: Overridden) => ({ environment, identity: o })
  const stored = (o: Overridden) => whole(o.feature_state, `Override for ${o.identifier}`)
  const remove = async (o: Overridden) => {
    const before = await stored(o)
    await removeOverride(whose(o), before, `Override for ${o.identifier} removed`, () => saveOverride(whose(o), undefined, inputOf(before), `Override for ${o.identifier} is back`))
  }
  const flip = async (o: Overridden, to: boolean) => {
    const before = await stored(o)
    const set = (on: boolean): Promise<unknown> =>
      saveOverride(whose(o), before, { ...inputOf(before), enabled: on }, `${feature.name} switched ${on ? 'on' : 'off'} for ${o.identifier}`, () => set(!on))
    await set(to)
  }
  // An override that there is already keeps its value.
  const make = async (identifier: string, enabled: boolean, value: Scalar) => {
    const there = (await get<Listed>(list)).results.find(o => o.identifier === identifier)
    if (there) return flip(there, enabled)
    const path = `${environmentPath(environment.api_key)}/edge-identities-featurestates`
    await write('PUT', path, { identifier, feature: feature.id, enabled, feature_state_value: value }, {
      label: `Override for ${identifier} made`,
      models: overrideModels,
      environment: environment.api_key,
      undo: () => write('DELETE', path, { identifier, feature: feature.id }, { label: `Override for ${identifier} removed`, models: overrideModels, environment: environment.api_key }),
    })
  }
  return (
    <section class="block" aria-labelledby="identity-overrides">
      <h3 id="identity-overrides">Identities</h3>
      <p class="muted">For single identities, before every segment.</p>
      {overrides.error && <p class="field-error">{overrides.error}</p>}
      <ul class="overrides">
        {all.slice(0, shownCount).map(o => (
          <li key={o.identity_uuid} class="override">
            <div class="override-head">
              <Icon name="identity" size={16} />
              <a class="override-name" href={environmentLink(spot.project, environment.api_key, 'identities', o.identity_uuid)}>
                {o.identifier}
              </a>
              <span class="mono override-value">{shown(o.feature_state.feature_state_value)}</span>
              <Switch
                on={o.feature_state.enabled}
                label={`${feature.name} for ${o.identifier}`}
                change={on => void flip(o, on).catch(() => {})}
              />
              <RemoveButton label={`Remove the override for ${o.identifier}`} remove={() => remove(o)} />
            </div>
          </li>
        ))}
      </ul>
      {all.length > shownCount && (
        <button type="button" class="button small" onClick={() => setShownCount(shownCount + step)}>
          {count(shownCount)} of {count(all.length)}: show more
        </button>
      )}
      <NewOverride spot={spot} make={make} />
    </section>
  )
}

type Make = (identifier: string, enabled: boolean, value: Scalar) => Promise<unknown>

function NewOverride({ spot: { feature }, make }: { spot: Spot; make: Make }) {
  const [identifier, setIdentifier] = useState('')
  const state = feature.environment_feature_state
  const form = useForm(async () => {
    await make(identifier.trim(), !(state?.enabled ?? false), state?.feature_state_value ?? null)
    setIdentifier('')
  })
  return (
    <form class="inline-form" onSubmit={form.onSubmit}>
      <Field label="Identifier" autocomplete="off" required value={identifier} change={setIdentifier} error={form.fields.identifier ?? (form.message || undefined)} />
      <button class="button" disabled={form.busy}>
        Switch {state?.enabled ? 'off' : 'on'} for it
      </button>
    </form>
  )
}
