import { useLocation } from 'preact-iso'
import { useEffect } from 'preact/hooks'
import { environmentLink } from '../links'
import { Empty } from '../parts/Empty'
import { Waiting } from '../parts/Waiting'
import { environmentKey, useEnvironmentList } from '../state/place'

/** ProjectHome goes to the environment that was used last in the project, or to its first. */
export function ProjectHome({ project }: { project: number }) {
  const { route } = useLocation()
  const { data, error, loading } = useEnvironmentList(project)
  const environments = loading ? undefined : data // while they are read again, one may be gone: the one that was just deleted
  const to = environments?.find(e => e.api_key === environmentKey.value) ?? environments?.[0]
  useEffect(() => {
    if (to) route(environmentLink(project, to.api_key, 'features'), true)
  }, [to?.api_key])
  if (environments?.length === 0) return <Empty icon="flag" title="This project has no environment yet" />
  return <Waiting error={data ? undefined : error} />
}
