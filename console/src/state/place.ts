import { computed, signal } from '@preact/signals'
import { useList, useQuery } from '../api/query'
import { browser } from '../api/storage'
import type { Environment, Organisation, Page, Project } from '../api/types'

// Where we are: organisation, project, environment. The address tells; where it does not, what was chosen last.

const key = 'flagraft.place'

interface Place {
  organisation?: number
  project?: number
  environment?: string
}

function read(): Place {
  try {
    return JSON.parse(browser.get(key) ?? '{}') as Place
  } catch {
    return {}
  }
}

const place = signal<Place>(read())

/** go notes where we are. */
export function go(to: Place) {
  const next = { ...place.peek(), ...to }
  if (JSON.stringify(next) === JSON.stringify(place.peek())) return
  place.value = next
  browser.set(key, JSON.stringify(next))
}

export const organisationID = computed(() => place.value.organisation)
export const projectID = computed(() => place.value.project)
export const environmentKey = computed(() => place.value.environment)

/** What one may see follows from these tables. */
export const rights = ['OrganisationUser', 'Permission', 'UserPermissionGroupMembership']

const useOrganisationList = () => useQuery<Page<Organisation>>('/api/v1/organisations/', ['Organisation', 'OrganisationUser'])

export const useOrganisations = () => useOrganisationList().data?.results

/** useOrganisationsError is why they are not known. */
export const useOrganisationsError = () => useOrganisationList().error

/** useAdmin tells whether one administers the organisation where we are. */
export const useAdmin = () => useOrganisations()?.find(o => o.id === organisationID.value)?.role === 'ADMIN'

export const projectsPath = (organisation: number | undefined) => (organisation === undefined ? null : `/api/v1/projects/?organisation=${organisation}`)

export function useProjects(organisation: number | undefined) {
  return useQuery<Project[]>(projectsPath(organisation), ['Project', ...rights]).data
}

export const useEnvironmentList = (project: number | undefined) =>
  useList<Environment>(project === undefined ? null : `/api/v1/environments/?project=${project}`, ['Environment', ...rights])

export const useEnvironments = (project: number | undefined) => useEnvironmentList(project).data

/** useNamedEnvironment is the environment with a key, or why there is none. */
export function useNamedEnvironment(project: number, key: string): { environment?: Environment | undefined; error?: string | undefined } {
  const { data, error, loading } = useEnvironmentList(project)
  const environment = data?.find(e => e.api_key === key)
  return environment ? { environment } : { error: error ?? (data && !loading ? 'There is no such environment.' : undefined) }
}

/** useEnvironment is the environment we are in, once it is known. */
export function useEnvironment(): Environment | undefined {
  return useEnvironments(projectID.value)?.find(e => e.api_key === environmentKey.value)
}
