import { useEffect } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import { useQuery } from '../api/query'
import type { Project } from '../api/types'
import { Icon } from '../parts/Icon'
import { Menu, type Choice } from '../parts/Menu'
import { go, organisationID, projectID, useOrganisations, useProjects } from '../state/place'

/** ProjectSwitch chooses organisation and project; both are remembered. */
export function ProjectSwitch() {
  const { path, route } = useLocation()
  const organisations = useOrganisations()
  const organisation = organisations?.find(o => o.id === organisationID.value) ?? organisations?.[0]
  const projects = useProjects(organisation?.id)
  const project = projects?.find(p => p.id === projectID.value)
  useEffect(() => {
    if (organisation) go({ organisation: organisation.id })
  }, [organisation?.id])
  // A link may lead to a project of another organisation.
  const elsewhere = projects && !project && projectID.value !== undefined && path.startsWith(`/projects/${projectID.value}`)
  const owner = useQuery<Project>(elsewhere ? `/api/v1/projects/${projectID.value}/` : null, ['Project']).data?.organisation
  useEffect(() => {
    if (elsewhere && owner !== undefined && organisations?.some(o => o.id === owner)) go({ organisation: owner })
  }, [elsewhere, owner])
  if (!organisations) return <div class="switcher skeleton" />
  const choices: (Choice | 'line')[] = (projects ?? []).map(p => ({ label: p.name, chosen: p.id === project?.id, href: `/projects/${p.id}` }))
  choices.push('line', { label: 'All projects', href: '/' })
  if (organisations.length > 1) {
    choices.push('line')
    for (const o of organisations) {
      choices.push({ label: o.name, note: 'organisation', chosen: o.id === organisation?.id, run: () => (go({ organisation: o.id }), route('/')) })
    }
  }
  return (
    <Menu
      class="switcher"
      label="Organisation and project"
      choices={choices}
      button={
        <>
          <span class="switcher-text">
            <span class="switcher-over">{organisation?.name ?? 'No organisation'}</span>
            <span class="switcher-main">{project?.name ?? 'Choose a project'}</span>
          </span>
          <Icon name="updown" size={16} />
        </>
      }
    />
  )
}
