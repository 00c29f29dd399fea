// What the API tells superusers of the cluster.

export interface Member {
  id: string
  address: string
  api: string
  version: string
  role: 'leader' | 'voter' | 'non-voter' | 'read-replica'
  ready: boolean
  healthy: boolean | null
  stable_since: string | null
  draining: boolean
  applied_index: number
  last_contact: string | null
}

export interface ClusterStatus {
  cluster_id: string
  node: string
  from_leader: boolean
  leader: string | null
  term: number
  commit_index: number
  healthy: boolean | null
  failure_tolerance: number | null
  members: Member[]
}

/** Load is how busy a node is. Totals begin with its process. */
export interface Load {
  id: string
  error: string
  started: string
  uptime_seconds: number
  memory_bytes: number
  memory_limit_bytes: number
  disk_free_bytes: number
  disk_total_bytes: number
  disk_min_free_bytes: number
  log_bytes: number
  snapshot_index: number
  snapshot_bytes: number
  identities: number
  connections: number
  streams: number
  requests: number
  failures: number
  durations: { seconds: number; count: number }[]
}

export const schedulesPath = '/api/flagraft/v1/backups/schedules/'

export interface Schedule {
  id: number
  name: string
  when: string
  target: string
  keep: number
  enabled: boolean
  due: string | null
  last_run: string | null
  last_success: string | null
  last_error: string
  last_file: string
  last_bytes: number
  failures: number
}

export const base = '/api/flagraft/v1/cluster/'

/** isLost tells whether the leader hears nothing of a member, or none of it is known. */
export const isLost = (m: Member, l: Load | undefined) => m.healthy === false || (m.healthy === null && !!l?.error)

/** memberName is how people call a member: the address of its API, or of its cluster port. */
export const memberName = (m: Member) => (/^:|^0\.0\.0\.0|^\[::\]/.test(m.api) || m.api === '' ? m.address : m.api)
