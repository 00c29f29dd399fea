import { Icon } from '../parts/Icon'
import { Menu } from '../parts/Menu'
import { me, signOut, signOutEverywhere } from '../state/session'
import { theme, type Theme } from '../state/theme'

const themes: Record<Theme, string> = { system: 'Theme of the system', light: 'Light', dark: 'Dark' }

/** Account is who is signed in, and the way out. */
export function Account() {
  const user = me.value!
  const name = `${user.first_name} ${user.last_name}`.trim() || user.email
  return (
    <Menu
      class="account"
      label="Account"
      up
      choices={[
        ...(Object.keys(themes) as Theme[]).map(t => ({ label: themes[t], chosen: theme.value === t, run: () => (theme.value = t) })),
        'line',
        { label: 'Account', note: 'password, second factor', href: '/account' },
        { label: 'API documentation', href: '/api/v1/docs/' },
        { label: 'Licences', href: '/licenses.txt' },
        'line',
        { label: 'Sign out', run: () => signOut() },
        { label: 'Sign out everywhere', note: 'ends the token', run: () => void signOutEverywhere() },
      ]}
      button={
        <>
          <span class="avatar" aria-hidden="true">
            {[...name][0]?.toUpperCase()}
          </span>
          <span class="switcher-text">
            <span class="switcher-main">{name}</span>
            <span class="switcher-over">{user.email}</span>
          </span>
          <Icon name="updown" size={16} />
        </>
      }
    />
  )
}
