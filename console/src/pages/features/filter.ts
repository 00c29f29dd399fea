import type { Feature } from '../../api/types'

/** Filter is what the list shows; it lives in the address, so that a link shows the same. */
export interface Filter {
  search: string
  tags: number[]
  state: '' | 'on' | 'off'
  type: '' | 'standard' | 'multivariate' | 'overridden'
  archived: boolean
  sort: Sort
}

export type Sort = 'name' | '-name' | 'created' | '-created' | 'changed' | '-changed'

export const sorts: Record<Sort, string> = {
  name: 'Name A–Z',
  '-name': 'Name Z–A',
  '-created': 'Newest first',
  created: 'Oldest first',
  '-changed': 'Changed lately',
  changed: 'Unchanged longest',
}

export function readFilter(query: Record<string, string>): Filter {
  return {
    search: query.q ?? '',
    tags: (query.tags ?? '').split(',').filter(Boolean).map(Number),
    state: query.state === 'on' || query.state === 'off' ? query.state : '',
    type: (['standard', 'multivariate', 'overridden'] as const).find(t => t === query.type) ?? '',
    archived: query.archived === 'yes',
    sort: query.sort !== undefined && query.sort in sorts ? (query.sort as Sort) : 'name',
  }
}

/** writeFilter is the query of the address, '' when everything is as usual. */
export function writeFilter(f: Filter): string {
  const q = new URLSearchParams()
  if (f.search) q.set('q', f.search)
  if (f.tags.length > 0) q.set('tags', f.tags.join(','))
  if (f.state) q.set('state', f.state)
  if (f.type) q.set('type', f.type)
  if (f.archived) q.set('archived', 'yes')
  if (f.sort !== 'name') q.set('sort', f.sort)
  return q.size > 0 ? `?${q}` : ''
}

const collator = new Intl.Collator('en', { numeric: true, sensitivity: 'base' })

const keys: Record<string, (a: Feature, b: Feature) => number> = {
  name: (a, b) => collator.compare(a.name, b.name),
  created: (a, b) => a.id - b.id,
  changed: (a, b) => time(a).localeCompare(time(b)),
}

const time = (f: Feature) => f.last_modified_in_current_environment ?? f.created_date

/** apply gives the features that pass, in order. */
export function apply(f: Filter, all: Feature[]): Feature[] {
  const words = f.search.toLowerCase().split(/\s+/).filter(Boolean)
  const passing = all.filter(x => {
    const text = `${x.name} ${x.description ?? ''} ${x.environment_feature_state?.feature_state_value ?? ''}`.toLowerCase()
    return (
      x.is_archived === f.archived &&
      words.every(w => text.includes(w)) &&
      f.tags.every(t => x.tags.includes(t)) &&
      (f.state === '' || (x.environment_feature_state?.enabled ?? false) === (f.state === 'on')) &&
      (f.type === '' || (f.type === 'overridden' ? (x.num_segment_overrides ?? 0) + (x.num_identity_overrides ?? 0) > 0 : x.type === f.type.toUpperCase()))
    )
  })
  const down = f.sort.startsWith('-')
  const compare = keys[down ? f.sort.slice(1) : f.sort]!
  return passing.sort((a, b) => (down ? -compare(a, b) : compare(a, b)))
}
