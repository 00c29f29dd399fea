import { writeJSON } from '../../api/json'
import type { Scalar } from '../../api/types'
import { shown } from './flag'

// What the change log says of a feature, as people read it.

export interface FieldChange {
  field: string
  old: unknown
  new: unknown
}

export interface FeatureChange {
  model: string
  id: number
  change_type: 'CREATE' | 'UPDATE' | 'DELETE'
  changes: FieldChange[]
  scope: 'feature' | 'default' | 'segment' | 'identity' | 'variant'
  target: number | null
  name: string
}

export interface FeatureEvent {
  id: number
  index: number
  time: string
  author: { user: number | null; name: string }
  changes: FeatureChange[]
}

/** Line is one thing that changed: "Value: blue → green". */
export interface Line {
  what: string
  old?: string
  now?: string
}

const uninteresting = new Set(['id', 'uuid', 'feature', 'environment', 'project', 'created_at', 'updated_at', 'live_from', 'version', 'seed', 'feature_version', 'feature_segment', 'identity', 'segment', 'created_date'])

/** Links are what is known of links to segments, by their ids, and of the links of states. */
export interface Links {
  links: Map<number, FeatureChange>
  states: Map<number, number>
}

/**
 * linked tells of states whose override went later for which segment they were: a state names its link to a segment, and the log tells of the
 * link when that goes too. That may stand on a newer page: links and states are those of the pages before, and get those of this one.
 */
export function linked(events: FeatureEvent[], { links, states }: Links): FeatureEvent[] {
  for (const c of events.flatMap(e => e.changes)) {
    if (c.model === 'FeatureSegment') links.set(c.id, c)
    if (c.model === 'FeatureState' && c.change_type !== 'UPDATE') states.set(c.id, linkOf(c))
  }
  const named = (c: FeatureChange) => {
    if (c.model !== 'FeatureState' || c.scope !== 'segment' || c.target !== null) return c
    const link = links.get(states.get(c.id)!)
    return link ? { ...c, target: link.target, name: link.name } : c
  }
  return events.map(e => ({ ...e, changes: e.changes.map(named) }))
}

/**
 * paired tells of a new version what it changes. A version comes with states and links of its own, which take the places of those before: what one
 * row held that went and one for the same that came is one change, and none if they hold the same.
 */
export function paired(event: FeatureEvent): FeatureEvent {
  const came = event.changes.filter(c => c.change_type === 'CREATE')
  const after = (gone: FeatureChange) =>
    gone.change_type === 'DELETE' && (gone.scope === 'default' || (gone.scope === 'segment' && gone.target !== null))
      ? came.find(c => c.model === gone.model && c.scope === gone.scope && c.target === gone.target)
      : undefined
  const pairs = new Map(event.changes.flatMap(c => [[after(c), c] as const]).filter(([a]) => a !== undefined))
  const gone = new Set(pairs.values())
  const changes = event.changes.filter(c => !gone.has(c)).map(c => (pairs.has(c) ? between(pairs.get(c)!, c) : c))
  return { ...event, changes: changes.filter(c => c.change_type !== 'UPDATE' || c.changes.length > 0) }
}

/** between is what differs from one row to the next. */
function between(gone: FeatureChange, came: FeatureChange): FeatureChange {
  const old = new Map(gone.changes.map(f => [f.field, f.old]))
  const held = (field: string, v: unknown) => (field === 'multivariate' ? JSON.stringify(((v as Share[] | null) ?? []).map(s => [s.option, s.percentage])) : writeJSON(v))
  const changes = came.changes
    .map(f => ({ ...f, old: old.get(f.field) }))
    .filter(f => !uninteresting.has(f.field) && held(f.field, f.old) !== held(f.field, f.new))
  return { ...came, change_type: 'UPDATE', changes }
}

/** linkOf is the link that a state was made with, or went with. */
function linkOf(c: FeatureChange): number {
  const f = c.changes.find(f => f.field === 'feature_segment')
  return Number(f?.old ?? f?.new)
}

/** lines tells a change field by field. */
export function lines(c: FeatureChange): Line[] {
  const whom = c.scope === 'segment' ? ` for ${c.name || 'a segment'}` : c.scope === 'identity' ? ` for ${c.name || 'an identity'}` : ''
  if (c.change_type === 'DELETE') return c.model === 'FeatureSegment' ? [] : [{ what: `${things[c.scope]}${whom} removed` }]
  if (c.change_type === 'CREATE' && c.model === 'FeatureSegment') return []
  const fields = c.changes.filter(f => !uninteresting.has(f.field))
  const told = fields.map(f => line(f, whom, c.change_type === 'CREATE')).filter(l => l !== null)
  return c.change_type === 'CREATE' && c.scope !== 'default' ? [{ what: `${things[c.scope]}${whom} made` }, ...told] : told
}

const things = { feature: 'Feature', default: 'State', segment: 'Override', identity: 'Override', variant: 'Variant' }

function line(f: FieldChange, whom: string, fresh: boolean): Line | null {
  if (f.field === 'enabled') return { what: `Switched ${f.new ? 'on' : 'off'}${whom}` }
  if (f.field === 'value') return { what: `Value${whom}`, ...(fresh ? {} : { old: shown(f.old as Scalar) }), now: shown(f.new as Scalar) }
  if (f.field === 'multivariate' && fresh && shares(f.new) === 'none') return null
  if (f.field === 'multivariate') return { what: `Shares${whom}`, ...(fresh ? {} : { old: shares(f.old) }), now: shares(f.new) }
  if (fresh) return null
  return { what: words(f.field) + whom, old: plain(f.old), now: plain(f.new) }
}

export interface Share {
  option: number
  percentage: number
}

const shares = (v: unknown) => ((v as Share[] | null) ?? []).map(s => `${s.percentage} %`).join(', ') || 'none'
const words = (field: string) => field.charAt(0).toUpperCase() + field.slice(1).replaceAll('_', ' ')
const plain = (v: unknown) => (v === null || v === undefined ? 'nothing' : typeof v === 'object' ? writeJSON(v) : String(v))
