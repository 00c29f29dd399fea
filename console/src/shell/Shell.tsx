import { Route, Router, useLocation } from 'preact-iso'
import { useEffect, useRef, useState } from 'preact/hooks'
import { Banner } from './Banner'
import { EnvironmentBanner } from './EnvironmentBanner'
import { NotFound } from './NotFound'
import { prefixes } from '../links'
import { Boundary } from '../parts/Boundary'
import { PaletteKeys } from '../palette/Palette'
import { pages } from '../routes'
import { Placed } from './Placed'
import { SecondFactorDue } from './SecondFactorDue'
import { Sidebar } from './Sidebar'
import { Topbar } from './Topbar'

/** Shell is the frame of every page: navigation at the side, where we are at the top. */
export function Shell() {
  const { path } = useLocation()
  const [open, setOpen] = useState(false)
  const opener = useRef<HTMLButtonElement>(null)
  const close = () => {
    setOpen(false)
    requestAnimationFrame(() => opener.current?.focus())
  }
  useEffect(() => {
    if (open) close()
  }, [path])
  return (
    <div class="shell">
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <PaletteKeys />
      <Sidebar open={open} close={close} />
      <div class="stage" inert={open}>
        <Topbar opener={opener} openMenu={() => setOpen(true)} />
        <Banner />
        <SecondFactorDue />
        <EnvironmentBanner />
        <main id="main" class="main" tabIndex={-1}>
          <Boundary>
            <Router>
              {pages.map(p => (
                <Route key={p.scope + p.path} path={prefixes[p.scope] + p.path} component={Placed} page={p} />
              ))}
              <Route default component={NotFound} />
            </Router>
          </Boundary>
        </main>
      </div>
    </div>
  )
}
