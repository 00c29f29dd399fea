import { LocationProvider } from 'preact-iso'
import { Receipts } from './parts/Receipts'
import { Shell } from './shell/Shell'
import { hasUsers, me } from './state/session'
import { offline } from './api/nodes'
import { FirstRun } from './pages/FirstRun'
import { SignIn } from './pages/SignIn'
import { Offline } from './shell/Offline'

/** App is everything: the door, or the console behind it. */
export function App() {
  return (
    <LocationProvider>
      <Inside />
      <Receipts />
    </LocationProvider>
  )
}

function Inside() {
  if (me.value) return <Shell />
  if (me.value === null && hasUsers.value === false) return <FirstRun />
  if (me.value === null && hasUsers.value === true) return <SignIn />
  if (offline.value) return <Offline />
  return <div class="splash" aria-busy="true" />
}
