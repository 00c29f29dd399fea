import { useState } from 'preact/hooks'
import { useQuery } from '../api/query'
import type { Project } from '../api/types'
import { Empty } from '../parts/Empty'
import { Icon } from '../parts/Icon'
import { Waiting } from '../parts/Waiting'
import { organisationID, projectsPath, useOrganisations, useOrganisationsError } from '../state/place'
import { NewProject } from './NewProject'

/** Start lists the projects of the organisation. */
export function Start() {
  const organisations = useOrganisations()
  const organisation = organisations?.find(o => o.id === organisationID.value) ?? organisations?.[0]
  const { data: projects, error: projectsError } = useQuery<Project[]>(projectsPath(organisation?.id), ['Project'])
  const error = useOrganisationsError() ?? projectsError
  const [making, setMaking] = useState(false)
  const add = (
    <button type="button" class="button primary" onClick={() => setMaking(true)}>
      <Icon name="plus" size={16} /> New project
    </button>
  )
  if (!organisations || (organisation && !projects)) return <Waiting error={error} />
  return (
    <div class="page">
      {!projects?.length ? (
        <Empty icon="flag" title="Begin with a project">
          <p>A project holds the features of one program, and has environments such as development and production.</p>
          {add}
        </Empty>
      ) : (
        <>
          <div class="page-head">
            <h1>{organisation!.name}</h1>
            {add}
          </div>
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
        </>
      )}
      {making && <NewProject organisation={organisation} close={() => setMaking(false)} />}
    </div>
  )
}
