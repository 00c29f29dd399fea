import { pages, prefixes, type Page } from './routes'
import { environmentKey, organisationID, projectID } from './state/place'

/** linkTo is the address of a page for where we are, or null when we are nowhere that has one. */
export function linkTo(page: Page): string | null {
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
  return whole ? start + page.path.replace(/\/:\w+\?/g, '') || '/' : null
}

/** environmentLink is an address in an environment: environmentLink(1, 'key', 'features', 12). */
export const environmentLink = (project: number, environment: string, ...rest: (string | number)[]) =>
  ['/projects', project, 'environments', encodeURIComponent(environment), ...rest].join('/')

/** pageLink is the address of one thing on the page with that title, or null while there is no such page. */
export function pageLink(title: string, ...rest: (string | number)[]): string | null {
  const page = pages.find(p => p.title === title)
  const start = page ? linkTo(page) : null
  return start === null ? null : [start, ...rest.map(encodeURIComponent)].join('/')
}
