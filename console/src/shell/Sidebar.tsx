import { useLocation } from 'preact-iso'
import { useEffect, useRef } from 'preact/hooks'
import { answeredBy, nodeName, nodes, origin } from '../api/nodes'
import { linkTo, type Scope } from '../links'
import { Icon } from '../parts/Icon'
import { Logo } from '../parts/Logo'
import { offered, pages, type Page } from '../routes'
import { useAdmin } from '../state/place'
import { Account } from './Account'
import { ProjectSwitch } from './ProjectSwitch'

const groups: { scopes: Scope[]; title: string }[] = [
  { scopes: ['environment', 'project'], title: 'Project' },
  { scopes: ['organisation'], title: 'Organisation' },
  { scopes: ['installation'], title: 'Installation' },
]

/** Sidebar is the navigation; on small screens it slides in, and has the focus until it is closed. */
export function Sidebar({ open, close }: { open: boolean; close: () => void }) {
  const brand = useRef<HTMLAnchorElement>(null)
  useEffect(() => {
    if (open) brand.current?.focus()
  }, [open])
  return (
    <>
      {open && <div class="scrim" onClick={close} />}
      <nav class={`sidebar ${open ? 'open' : ''}`} aria-label="Main" onKeyDown={e => open && e.key === 'Escape' && close()}>
        <a ref={brand} class="brand" href="/">
          <Logo /> flagraft
        </a>
        <ProjectSwitch />
        <div class="nav">
          {groups.map(g => (
            <Group key={g.title} title={g.title} pages={pages.filter(p => p.nav && g.scopes.includes(p.scope))} />
          ))}
        </div>
        <Status />
        <Account />
      </nav>
    </>
  )
}

function Group({ title, pages }: { title: string; pages: Page[] }) {
  const { path } = useLocation()
  const admin = useAdmin()
  const shown = pages
    .filter(p => offered(p, admin))
    .map(p => ({ page: p, href: linkTo(p) }))
    .filter((x): x is { page: Page; href: string } => x.href !== null)
  if (shown.length === 0) return null
  return (
    <section>
      <h2 class="nav-title">{title}</h2>
      {shown.map(({ page, href }) => (
        <a key={href} class="nav-link" href={href} aria-current={path === href || path.startsWith(href + '/') ? 'page' : undefined}>
          <Icon name={page.nav!.icon} /> {page.title}
        </a>
      ))}
    </section>
  )
}

/** Status says which node answers and how many are ready. */
function Status() {
  const ready = nodes.value.filter(n => n.ready).length
  const all = nodes.value.length
  return (
    <p class="status" title={`Answered by node ${answeredBy.value}`}>
      <span class={`dot ${ready < all ? 'warn' : 'ok'}`} />
      {nodeName(origin.value)}
      <span class="status-count">
        {ready}/{all} {all === 1 ? 'node' : 'nodes'}
      </span>
    </p>
  )
}
