import { useLocation } from 'preact-iso'
import { useRef, useState } from 'preact/hooks'
import { useQuery } from '../../api/query'
import type { Environment, Page } from '../../api/types'
import { environmentLink } from '../../links'
import { Empty } from '../../parts/Empty'
import { Icon } from '../../parts/Icon'
import { Pager } from '../../parts/Pager'
import { useTyped } from '../../parts/useTyped'
import { environmentPath, identityModels, linkOf } from './identity'
import { NewIdentity } from './NewIdentity'

const pageSize = 50

interface Listed {
  id: number
  identifier: string
}

/** IdentityList searches the identities of an environment. The address holds search and page. */
export function IdentityList({ project, environment }: { project: number; environment: Environment }) {
  const { query, route } = useLocation()
  const [making, setMaking] = useState(false)
  const search = query.q ?? ''
  const page = Math.max(1, Number(query.page) || 1)
  const here = environmentLink(project, environment.api_key, 'identities')
  const go = (q: string, page = 1) => {
    const params = new URLSearchParams({ ...(q && { q }), ...(page > 1 && { page: String(page) }) })
    route(here + (params.size > 0 ? `?${params}` : ''), true)
  }
  const [typed, setTyped] = useTyped(search, go, 200)
  const list = useQuery<Page<Listed>>(
    `${environmentPath(environment.api_key)}/identities/?${new URLSearchParams({ ...(search && { q: search }), page: String(page), page_size: String(pageSize) })}`,
    identityModels,
  )
  // The page before stays until the next one is there.
  const last = useRef(list.data)
  if (list.data) last.current = list.data
  const shown = list.data ?? (list.error ? undefined : last.current)
  return (
    <div class="page">
      <div class="page-head">
        <h1>Identities</h1>
        <button type="button" class="button primary" onClick={() => setMaking(true)}>
          <Icon name="plus" size={16} /> New identity
        </button>
      </div>
      <p class="page-lead">Those that programs have asked flags for in {environment.name}, with their traits.</p>
      <div class="list-filters" role="search">
        <div class="search">
          <Icon name="search" size={16} />
          <input
            class="input"
            type="search"
            aria-label="Search identities"
            placeholder={'Part of the identifier, or "all of it"'}
            spellcheck={false}
            value={typed}
            onInput={e => setTyped(e.currentTarget.value)}
          />
        </div>
      </div>
      {list.error && <Empty icon="alert" title={list.error} />}
      {shown?.count === 0 && search === '' && (
        <Empty icon="identity" title="No identity yet">
          <p>An identity is stored when a program asks for its flags, or here.</p>
        </Empty>
      )}
      {shown?.count === 0 && search !== '' && <Empty icon="search" title="No identifier has that in it" />}
      {!!shown?.count && (
        <>
          <ul class="list-rows" aria-busy={list.loading}>
            {shown.results.map(i => (
              <li key={i.id}>
                <a class="list-row identity-row" href={linkOf({ project, environment }, i.id)}>
                  <Icon name="identity" size={16} />
                  <span class="identity-name">{i.identifier}</span>
                </a>
              </li>
            ))}
          </ul>
          <Pager page={page} pages={Math.ceil(shown.count / pageSize)} count={shown.count} go={p => go(search, p)} unit={['identity', 'identities']} words={['Back', 'Next']} />
        </>
      )}
      {making && <NewIdentity project={project} environment={environment} close={() => setMaking(false)} />}
    </div>
  )
}
