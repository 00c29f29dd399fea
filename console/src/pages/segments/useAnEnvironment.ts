import type { Environment } from '../../api/types'
import { environmentKey, useEnvironments } from '../../state/place'

/** useAnEnvironment is the environment of the project that was used last, or its first. */
export function useAnEnvironment(project: number): Environment | undefined {
  const environments = useEnvironments(project)
  return environments?.find(e => e.api_key === environmentKey.value) ?? environments?.[0]
}
