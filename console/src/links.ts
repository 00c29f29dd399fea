import { environmentKey, organisationID, projectID } from './state/place'

/** What a page is about; its address begins accordingly (see prefixes). */
export type Scope = 'environment' | 'project' | 'organisation' | 'installation'

export const prefixes: Record<Scope, string> = {
  environment: '/projects/:project/environments/:environment',
  project: '/projects/:project',
  organisation: '/organisations/:organisation',
  installation: '',
}

/** linkTo is the address of a page, and of one thing on it, for where we are; null when we are nowhere that has one. */
export function linkTo(page: { scope: Scope; path: string }, ...rest: (string | number)[]): string | null {
  const values: Record<string, string | number | undefined> = {
    project: projectID.value,
    environment: environmentKey.value,
    organisation: organisationID.value,
  }
  let whole = true
  const start = prefixes[page.scope].replace(/:(\w+)/g, (_, name: string) => {
    whole &&= values[name] !== undefined
    return encodeURIComponent(String(values[name]))
  })
  return whole ? [start + page.path.replace(/\/:\w+\?/g, '') || '/', ...rest.map(encodeURIComponent)].join('/') : null
}

/** linkIn is an address in the environment, project or organisation where we are: linkIn('project', 'segments', 12). */
export const linkIn = (scope: Scope, ...rest: (string | number)[]) => linkTo({ scope, path: '' }, ...rest)

/** environmentLink is an address in an environment: environmentLink(1, 'key', 'features', 12). */
export const environmentLink = (project: number, environment: string, ...rest: (string | number)[]) =>
  ['/projects', project, 'environments', encodeURIComponent(environment), ...rest].join('/')
