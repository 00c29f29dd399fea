import { writeJSON } from '../../api/json'
import type { Scalar } from '../../api/types'

/** AuditEntry is a row of the audit log. */
export interface AuditEntry {
  id: number
  created_date: string
  log: string
  author: { id: number; email: string; first_name: string; last_name: string } | null
  environment: { id: number; name: string } | null
  related_object_type: string
  related_object_id: number | null
  is_system_event: boolean
}

/** FieldChange is one field before and after. */
export interface FieldChange {
  field: string
  old: unknown
  new: unknown
}

export interface AuditDetail extends AuditEntry {
  change_type: 'CREATE' | 'UPDATE' | 'DELETE' | 'UNKNOWN'
  change_details: FieldChange[] | null
}

/** Change is one write of any kind, as superusers see it. */
export interface Change {
  id: number
  index: number
  time: string
  author: { user: number | null; master_api_key: number | null; name: string }
  note: string
  changes: { model: string; id: number; change_type: 'CREATE' | 'UPDATE' | 'DELETE'; changes: FieldChange[] }[]
}

/** The kinds of things that the audit log tells of. */
export const kinds: Record<string, string> = {
  FEATURE: 'Feature',
  FEATURE_STATE: 'Feature state',
  SEGMENT: 'Segment',
  ENVIRONMENT: 'Environment',
  EDGE_IDENTITY: 'Identity',
  EF_VERSION: 'Feature version',
  FEATURE_HEALTH: 'Feature health',
}

/** shown is a value of a field as text. */
export const shown = (v: unknown): string => (v === null || v === undefined ? 'nothing' : typeof v === 'object' ? writeJSON(v) : String(v as Scalar) || '(empty)')
