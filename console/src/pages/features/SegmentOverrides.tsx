import { useList } from '../../api/query'
import type { Flag, FlagOverride, Segment } from '../../api/types'
import { Icon } from '../../parts/Icon'
import { Overtaken } from '../../parts/Overtaken'
import { RemoveButton } from '../../parts/RemoveButton'
import { Switch } from '../../parts/Switch'
import { useFollowing } from '../../parts/useFollowing'
import { useForm } from '../../parts/useForm'
import { useReorder } from '../../parts/useReorder'
import { changeOverrides, type Spot } from './flag'
import { ValueEditor } from './ValueEditor'
import { sum, Weights, weightsOf } from './Weights'

type Override = Omit<FlagOverride, 'priority'>

/** SegmentOverrides are edited together and saved as one change; the first segment that an identity is in wins. */
export function SegmentOverrides({ spot, flag }: { spot: Spot; flag: Flag }) {
  const { feature, project } = spot
  const segments = useList<Segment>(`/api/v1/projects/${project}/segments/`, ['Segment']).data ?? []
  const before = ordered(flag)
  const { draft, setDraft, dirty, sending, discard, overtaken } = useFollowing(before, merged, `segment overrides of ${feature.id} in ${spot.environment.id}`)
  const valid = draft.every(o => sum(o.variants) <= 100 && (o.value?.type !== 'integer' || /^-?\d+$/.test(o.value.value)))
  const nameOf = (i: number) => segments.find(s => s.id === draft[i]?.segment.id)?.name ?? `segment ${draft[i]?.segment.id}`
  const reorder = useReorder(draft.length, nameOf, (from, to) => setDraft(d => moved(d, from, to)))
  const set = (i: number, change: Partial<Override>) => setDraft(draft.map((o, n) => (n === i ? { ...o, ...change } : o)))
  const free = segments.filter(s => !draft.some(o => o.segment.id === s.id) && (s.feature === null || s.feature === feature.id))

  const add = (id: number) =>
    setDraft([...draft, { segment: { id }, enabled: flag.environment_default.enabled, value: flag.environment_default.value, variants: flag.environment_default.variants }])
  const form = useForm(() =>
    sending(() => changeOverrides(spot, flag.segment_overrides, draft, `Segment overrides of ${feature.name} changed`, `Segment overrides of ${feature.name} as they were`)),
  )

  return (
    <section class="block" aria-labelledby="segment-overrides">
      <h3 id="segment-overrides">Segments</h3>
      <p class="muted">The first segment that an identity is in decides. Drag to change the order, or use the arrow keys on a handle.</p>
      <p class="visually-hidden" aria-live="assertive">
        {reorder.said}
      </p>
      <ol class="overrides">
        {draft.map((o, i) => (
          <li key={o.segment.id} class="override" {...reorder.row(i)}>
            <div class="override-head">
              <button type="button" class="drag-handle" {...reorder.handle(i)}>
                <Icon name="drag" />
              </button>
              <span class="override-number">{i + 1}</span>
              <strong class="override-name">{nameOf(i)}</strong>
              <Switch on={o.enabled} label={`${feature.name} for ${nameOf(i)}`} change={enabled => set(i, { enabled })} />
              <RemoveButton label={`Remove the override for ${nameOf(i)}`} remove={() => setDraft(draft.filter((_, n) => n !== i))} />
            </div>
            <ValueEditor label={`Value for ${nameOf(i)}`} value={o.value} change={value => set(i, { value })} />
            {feature.multivariate_options.length > 0 && (
              <Weights
                options={feature.multivariate_options}
                weights={weightsOf(feature.multivariate_options, o.variants)}
                change={variants => set(i, { variants })}
                rest="the value above"
              />
            )}
          </li>
        ))}
      </ol>
      {free.length > 0 && (
        <select class="select" aria-label="Add an override for a segment" value="" onChange={e => e.currentTarget.value && add(Number(e.currentTarget.value))}>
          <option value="">Add an override for a segment…</option>
          {free.map(s => (
            <option key={s.id} value={s.id}>
              {s.name}
            </option>
          ))}
        </select>
      )}
      <Overtaken back={overtaken} />
      <div class={`save-bar ${dirty ? '' : 'idle'}`}>
        <button type="button" class="button" disabled={!dirty} onClick={discard}>
          Discard
        </button>
        <button type="button" class="button primary" disabled={form.busy || !dirty || !valid} onClick={form.onSubmit}>
          Save overrides
        </button>
      </div>
    </section>
  )
}

const ordered = (flag: Flag): Override[] => flag.segment_overrides.toSorted((a, b) => a.priority - b.priority).map(({ priority: _, ...o }) => o)

function moved<T>(list: T[], from: number, to: number): T[] {
  const next = list.slice()
  next.splice(to, 0, ...next.splice(from, 1))
  return next
}

/**
 * merged keeps of a draft what nobody else saved meanwhile: an override that somebody changed, made or removed is as it is stored now, and the
 * others stay as they were edited. The order is the stored one if it alone changed.
 */
function merged(from: Override[], to: Override[], draft: Override[]): Override[] {
  const find = (list: Override[], o: Override) => list.find(x => x.segment.id === o.segment.id)
  const untouched = (o: Override) => JSON.stringify(find(from, o)) === JSON.stringify(find(to, o))
  const next = draft.flatMap(o => (untouched(o) ? o : (find(to, o) ?? [])))
  to.forEach((o, i) => {
    if (!untouched(o) && !find(next, o)) next.splice(i, 0, o)
  })
  const order = (a: Override[], b: Override[]) => a.filter(o => find(b, o)).map(o => o.segment.id).join()
  const moved = (a: Override[], b: Override[]) => order(a, b) !== order(b, a)
  if (!moved(from, to) || moved(from, draft)) return next
  const place = (o: Override) => to.findIndex(x => x.segment.id === o.segment.id) >>> 0 // what is not stored comes last
  return next.toSorted((a, b) => place(a) - place(b))
}
