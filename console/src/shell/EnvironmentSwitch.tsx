import { useLocation } from 'preact-iso'
import { Icon } from '../parts/Icon'
import { Menu } from '../parts/Menu'
import { environmentKey, projectID, useEnvironments } from '../state/place'

/** EnvironmentSwitch stays on the page and changes the environment it is about. */
export function EnvironmentSwitch() {
  const { path, route } = useLocation()
  const environments = useEnvironments(projectID.value)
  const here = environments?.find(e => e.api_key === environmentKey.value)
  if (!environments || !path.startsWith('/projects/')) return null
  const there = (key: string) => path.replace(/^(\/projects\/[^/]+)(\/environments\/[^/]+)?/, `$1/environments/${encodeURIComponent(key)}`)
  return (
    <Menu
      class="environment-switch"
      label="Environment"
      choices={environments.map(e => ({
        label: e.name,
        chosen: e === here,
        run: () => route(/\/environments\//.test(path) ? there(e.api_key) : `/projects/${projectID.value}/environments/${encodeURIComponent(e.api_key)}/features`),
      }))}
      button={
        <>
          <span class={`environment-dot e${environments.indexOf(here!) % 6}`} />
          <span class="environment-name">{here?.name ?? 'Environment'}</span>
          <Icon name="updown" size={16} />
        </>
      }
    />
  )
}
