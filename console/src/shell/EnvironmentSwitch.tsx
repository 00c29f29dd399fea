import { useLocation } from 'preact-iso'
import { useEffect } from 'preact/hooks'
import { Icon } from '../parts/Icon'
import { Menu } from '../parts/Menu'
import { environmentKey, go, projectID, useEnvironments } from '../state/place'

/** EnvironmentSwitch stays on the page and changes the environment it is about. */
export function EnvironmentSwitch() {
  const { path, route, url } = useLocation()
  const environments = useEnvironments(projectID.value)
  const here = environments?.find(e => e.api_key === environmentKey.value)
  // The one chosen last may be of another project, or gone: then the links at the side lead to the first.
  const other = !here && !path.includes('/environments/') ? environments?.[0]?.api_key : undefined
  useEffect(() => {
    if (other !== undefined) go({ environment: other })
  }, [other])
  if (!environments || !path.startsWith('/projects/')) return null
  // An identity is of one environment, and its number of no other; what filters the features is the same in all.
  const page = path.replace(/(\/identities)\/.*/, '$1') + (/\/features(\/|$)/.test(path) ? url.slice(path.length) : '')
  const there = (key: string) => page.replace(/^(\/projects\/[^/]+)(\/environments\/[^/]+)?/, `$1/environments/${encodeURIComponent(key)}`)
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
