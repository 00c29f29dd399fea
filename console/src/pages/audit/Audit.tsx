import { useLocation } from 'preact-iso'
import '../../styles/audit.css'
import { useQuery } from '../../api/query'
import type { Page } from '../../api/types'
import { Empty } from '../../parts/Empty'
import { Pager } from '../../parts/Pager'
import { AuditFilters } from './AuditFilters'
import { AuditRow } from './AuditRow'
import { queryOf, type AuditFilter } from './filter'
import type { AuditEntry } from './types'

const pageSize = 50

/** Audit is who did what in a project, newest first. The filters are part of the address. */
export function Audit({ project }: { project: number }) {
  const { query, route, path } = useLocation()
  const filter: AuditFilter = query
  const page = Number(query.page ?? 1)
  const base = `/api/v1/projects/${project}/audit/`
  const list = useQuery<Page<AuditEntry>>(`${base}?${queryOf(filter)}&page=${page}&page_size=${pageSize}`, ['*'])
  const go = (f: AuditFilter, page: number) => {
    const q = new URLSearchParams(Object.entries({ ...f, page: page > 1 ? String(page) : '' }).filter(([, v]) => v !== undefined && v !== ''))
    route(q.size > 0 ? `${path}?${q}` : path, true)
  }
  return (
    <div class="page">
      <h1>Audit log</h1>
      <p class="page-lead">Who changed which feature, segment or environment of this project.</p>
      <AuditFilters project={project} filter={filter} change={f => go(f, 1)} />
      {list.error && !list.data && <Empty icon="alert" title={list.error} />}
      {list.data?.count === 0 && <Empty icon="audit" title={Object.keys(query).length > 0 ? 'Nothing passes the filters' : 'Nothing happened yet'} />}
      {!!list.data?.count && (
        <>
          <ol class="log" aria-busy={list.loading}>
            {list.data.results.map(e => (
              <AuditRow key={e.id} entry={e} path={`${base}${e.id}/`} />
            ))}
          </ol>
          <Pager page={page} pages={Math.ceil(list.data.count / pageSize)} count={list.data.count} go={p => go(filter, p)} />
        </>
      )}
    </div>
  )
}
