import { LocationProvider, useLocation } from 'preact-iso'
import { exec } from 'preact-iso/router'
import { offline } from './api/nodes'
import { doors } from './doors'
import { FirstRun } from './pages/FirstRun'
import { SignIn } from './pages/SignIn'
import { Boundary } from './parts/Boundary'
import { Receipts } from './parts/Receipts'
import { Offline } from './shell/Offline'
import { Shell } from './shell/Shell'
import { installation, me, trouble } from './state/session'

// Links to these leave the page: they are the server's.
const ours = /^\/(?!api\/|o\/|licenses\.txt)/

/** App is everything: the doors, or the console behind them. */
export function App() {
  return (
    <LocationProvider scope={ours}>
      <Boundary>
        <Inside />
      </Boundary>
      <Receipts />
    </LocationProvider>
  )
}

function Inside() {
  const { path } = useLocation()
  if (me.value === undefined) return offline.value || trouble.value ? <Offline /> : <div class="splash" aria-busy="true" />
  for (const door of doors) {
    const match = exec(path, door.path, { path, query: {}, params: {} })
    if (match) return <door.component {...match.params} />
  }
  if (me.value) return <Shell />
  return installation.value?.has_users === false ? <FirstRun /> : <SignIn />
}
