import { Icon } from '../parts/Icon'
import { EnvironmentSwitch } from './EnvironmentSwitch'

/** Topbar says where we are and finds what is elsewhere. */
export function Topbar({ openMenu }: { openMenu: () => void }) {
  return (
    <header class="topbar">
      <button type="button" class="button ghost square menu-opener" aria-label="Open the navigation" onClick={openMenu}>
        <Icon name="menu" />
      </button>
      <EnvironmentSwitch />
    </header>
  )
}
