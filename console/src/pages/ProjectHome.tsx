import { useLocation } from 'preact-iso'
import { useEffect } from 'preact/hooks'
import { environmentLink } from '../links'
import { Empty } from '../parts/Empty'
import { Waiting } from '../parts/Waiting'
import { environmentKey, useEnvironments, useNamedEnvironment } from '../state/place'

/** ProjectHome goes to the environment that was used last in the project, or to its first. */
export function ProjectHome({ project }: { project: number }) {
  const { route } = useLocation()
  const environments = useEnvironments(project)
  const { error } = useNamedEnvironment(project, '')
  const to = environments?.find(e => e.api_key === environmentKey.value) ?? environments?.[0]
  useEffect(() => {
    if (to) route(environmentLink(project, to.api_key, 'features'), true)
  }, [to?.api_key])
  if (environments?.length === 0) return <Empty icon="flag" title="This project has no environment yet" />
  return <Waiting error={environments ? undefined : error} />
}
