import { Empty } from '../parts/Empty'
import { Icon } from '../parts/Icon'
import { organisationID, useOrganisations, useProjects } from '../state/place'

/** Start lists the projects of the organisation. */
export function Start() {
  const organisations = useOrganisations()
  const organisation = organisations?.find(o => o.id === organisationID.value) ?? organisations?.[0]
  const projects = useProjects(organisation?.id)
  if (organisations?.length === 0) return <Empty icon="members" title="You belong to no organisation yet" />
  if (!organisation || !projects) return <div class="page" aria-busy="true" />
  return (
    <div class="page">
      <h1>{organisation.name}</h1>
      <p class="page-lead">
        {projects.length} {projects.length === 1 ? 'project' : 'projects'}
      </p>
      <ul class="cards">
        {projects.map(p => (
          <li key={p.id}>
            <a class="card" href={`/projects/${p.id}`}>
              <Icon name="flag" />
              <strong>{p.name}</strong>
            </a>
          </li>
        ))}
      </ul>
    </div>
  )
}
