import { messageOf } from '../../api/error'
import { get } from '../../api/request'
import type { Feature, Flag, FlagOverride, FlagState, Page, Scalar } from '../../api/types'
import { write } from '../../api/write'
import { failed } from '../../state/receipts'
import { save, saveAll, saveOverrides, stateModels, typed, type Spot } from './flag'
import type { FeatureChange, FeatureEvent, Share } from './history'

// Bringing back what an event of the history changed: the default, overrides of segments, or the override of one identity. The rest of the
// feature stays as it is now. Where an environment keeps versions, what is written here becomes one version and is live.

type Override = Omit<FlagOverride, 'priority'>

/** undoing gives what brings it back, with a label for the receipt, or null when that is not all there is to it, or no longer fits. */
export function undoing(e: FeatureEvent, spot: Spot, now: Flag): ((label: string) => Promise<unknown>) | null {
  if (e.changes.some(c => c.scope === 'variant')) return null // the variant itself does not come back, or go
  const states = e.changes.filter(c => c.model === 'FeatureState')
  if (states.length === 1 && states[0]!.scope === 'identity') return identityBefore(states[0]!, spot)
  const [d, ...more] = states.filter(c => c.scope !== 'segment')
  const ofSegments = e.changes.filter(c => c.scope === 'segment')
  const overrides = ofSegments.length > 0 ? overridesBefore(ofSegments, now.segment_overrides, spot.feature) : []
  if (!overrides || more.length > 0) return null
  if (!d) return ofSegments.length > 0 ? label => saveOverrides(spot, overrides, label) : null
  const state = stateBefore(d, spot.feature)
  if (d.scope !== 'default' || d.change_type !== 'UPDATE' || Object.keys(state).length === 0) return null
  if (ofSegments.length === 0) return label => save(spot, state, label)
  return label => saveAll(spot, { ...now.environment_default, ...state }, overrides, label)
}

/** sharesBefore are the shares of those variants that are still there: with the others the server refuses all of it. */
const sharesBefore = (v: unknown, feature: Feature) => ((v as Share[] | null) ?? []).filter(s => feature.multivariate_options.some(o => o.id === s.option))

/** stateBefore is what a state held, as far as the change tells. */
function stateBefore(c: FeatureChange, feature: Feature): Partial<FlagState> {
  const before: Partial<FlagState> = {}
  for (const f of c.changes) {
    if (f.field === 'enabled') before.enabled = Boolean(f.old)
    if (f.field === 'value') before.value = typed(f.old as Scalar)
    if (f.field === 'multivariate') before.variants = sharesBefore(f.old, feature).map(s => ({ id: s.option, weight: s.percentage }))
  }
  return before
}

/**
 * overridesBefore are the overrides as they are now but for what was changed; null when that does not fit any more: a segment is gone, or an
 * override was removed or made meanwhile.
 */
function overridesBefore(changes: FeatureChange[], now: FlagOverride[], feature: Feature): Override[] | null {
  let overrides = now.map(o => ({ ...o }))
  for (const c of changes) {
    if (c.target === null || c.name === '' || (c.change_type === 'DELETE') === now.some(o => o.segment.id === c.target)) return null
  }
  for (const c of changes) {
    const segment = { id: c.target! }
    const before = c.model === 'FeatureState' ? stateBefore(c, feature) : priorityBefore(c)
    const there = overrides.find(o => o.segment.id === segment.id)
    if (c.change_type === 'CREATE') overrides = overrides.filter(o => o !== there)
    else if (there) Object.assign(there, before)
    else overrides.unshift({ enabled: false, value: null, variants: [], priority: 0, ...before, segment })
  }
  return overrides.sort((a, b) => a.priority - b.priority).map(({ priority: _, ...o }) => o)
}

function priorityBefore(c: FeatureChange): { priority?: number } {
  const priority = c.changes.find(f => f.field === 'priority')?.old
  return typeof priority === 'number' ? { priority } : {}
}

/**
 * identityBefore makes, changes or removes the override of an identity: the one that there is now, which is another row than the change tells of
 * when it was removed and came back.
 */
function identityBefore(c: FeatureChange, { environment, feature }: Spot): ((label: string) => Promise<unknown>) | null {
  if (c.target === null || c.name === '') return null
  const path = `/api/v1/environments/${encodeURIComponent(environment.api_key)}/identities/${c.target}/featurestates/`
  const state: Record<string, unknown> = {}
  for (const f of c.changes) {
    if (f.field === 'enabled') state.enabled = Boolean(f.old)
    if (f.field === 'value') state.feature_state_value = f.old
    if (f.field === 'multivariate') {
      state.multivariate_feature_state_values = sharesBefore(f.old, feature).map(s => ({ multivariate_feature_option: s.option, percentage_allocation: s.percentage }))
    }
  }
  if (c.change_type === 'UPDATE' && Object.keys(state).length === 0) return null
  return async label => {
    const now = await get<Page<{ id: number }>>(`${path}?feature=${feature.id}`).catch((e: unknown) => {
      failed(label, messageOf(e))
      throw e
    })
    const there = now.results[0]
    const w = { label, models: ['Identity', ...stateModels], environment: environment.api_key }
    if (there) return c.change_type === 'CREATE' ? write('DELETE', `${path}${there.id}/`, undefined, w) : write('PATCH', `${path}${there.id}/`, state, w)
    if (c.change_type === 'DELETE') return write('POST', path, { feature: feature.id, enabled: false, ...state }, w)
    return failed(label, `${c.name} has no override any more.`)
  }
}
