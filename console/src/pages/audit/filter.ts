/** AuditFilter is what the audit log shows, as its address says it. */
export interface AuditFilter {
  search?: string
  environment?: string // its id
  author?: string // id of the user
  kind?: string
  from?: string // a day, included
  to?: string // a day, included
}

/** queryOf asks the API for it. Days are those of whoever looks. */
export function queryOf(f: AuditFilter): string {
  const q = new URLSearchParams()
  if (f.search) q.set('search', f.search)
  if (f.environment) q.set('environments', f.environment)
  if (f.author) q.set('author', f.author)
  if (f.kind) q.set('related_object_type', f.kind)
  if (f.from) q.set('created_after', midnight(f.from, 0))
  if (f.to) q.set('created_before', midnight(f.to, 1))
  return q.toString()
}

function midnight(day: string, later: number): string {
  const [year, month, date] = day.split('-').map(Number)
  const time = new Date(year!, month! - 1, date! + later)
  return Number.isNaN(time.getTime()) ? day : time.toISOString() // the address may hold anything: the server says what is wrong with it
}
