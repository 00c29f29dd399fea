import type { RefObject } from 'preact'
import { paletteOpen } from '../palette/Palette'
import { Icon } from '../parts/Icon'
import { EnvironmentSwitch } from './EnvironmentSwitch'

const mac = /Mac|iPhone|iPad/.test(navigator.userAgent)

/** Topbar says where we are and finds what is elsewhere. */
export function Topbar({ opener, openMenu }: { opener: RefObject<HTMLButtonElement | null>; openMenu: () => void }) {
  return (
    <header class="topbar">
      <button ref={opener} type="button" class="button ghost square menu-opener" aria-label="Open the navigation" onClick={openMenu}>
        <Icon name="menu" />
      </button>
      <EnvironmentSwitch />
      <button type="button" class="jump" aria-keyshortcuts="Control+K Meta+K" onClick={() => (paletteOpen.value = true)}>
        <Icon name="search" size={16} />
        <span class="jump-text">Jump to</span>
        <kbd aria-hidden="true">{mac ? '⌘K' : 'Ctrl K'}</kbd>
      </button>
    </header>
  )
}
