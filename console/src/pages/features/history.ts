import type { FlagState, Scalar } from '../../api/types'
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

interface Share {
  option: number
  percentage: number
}

const shares = (v: unknown) => ((v as Share[] | null) ?? []).map(s => `${s.percentage} %`).join(', ') || 'none'
const words = (field: string) => field.charAt(0).toUpperCase() + field.slice(1).replaceAll('_', ' ')
const plain = (v: unknown) => (v === null || v === undefined ? 'nothing' : typeof v === 'object' ? JSON.stringify(v) : String(v))

/** undoing is what brings the default back to where it was before the event, or null when that is not all there is to it. */
export function undoing(e: FeatureEvent): Partial<FlagState> | null {
  const states = e.changes.filter(c => c.model === 'FeatureState')
  const c = states[0]
  if (!c || states.length !== 1 || c.scope !== 'default' || c.change_type !== 'UPDATE') return null
  const before: Partial<FlagState> = {}
  for (const f of c.changes) {
    if (f.field === 'enabled') before.enabled = Boolean(f.old)
    if (f.field === 'value') before.value = asTyped(f.old as Scalar)
    if (f.field === 'multivariate') before.variants = ((f.old as Share[] | null) ?? []).map(s => ({ id: s.option, weight: s.percentage }))
  }
  return Object.keys(before).length > 0 ? before : null
}

const asTyped = (v: Scalar): FlagState['value'] =>
  v === null ? null : { type: typeof v === 'boolean' ? 'boolean' : typeof v === 'number' ? 'integer' : 'string', value: String(v) }
