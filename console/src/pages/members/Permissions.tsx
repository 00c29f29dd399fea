import { useState } from 'preact/hooks'
import '../../styles/members.css'
import { useList, useQuery } from '../../api/query'
import { Empty } from '../../parts/Empty'
import { Select } from '../../parts/Select'
import { Waiting } from '../../parts/Waiting'
import { environmentKey, projectID, useEnvironments, useProjects } from '../../state/place'
import { PermissionSet, type Holder } from './PermissionSet'
import { groupModels, memberModels, organisationPath, personName, type Group, type Member } from './types'

interface Props {
  organisation: string
  kind: string
  id: string
}

/** Permissions is what one person, or one group, may do: in the organisation, in a project, in an environment. */
export function Permissions({ organisation, kind, id }: Props) {
  const holder: Holder = { kind: kind === 'group' ? 'group' : 'user', id: Number(id) }
  const members = useQuery<Member[]>(holder.kind === 'user' ? `${organisationPath(organisation)}users/` : null, memberModels)
  const groups = useList<Group>(holder.kind === 'group' ? `${organisationPath(organisation)}groups/` : null, groupModels)
  const member = members.data?.find(m => m.id === holder.id)
  const name = member ? personName(member) : groups.data?.find(g => g.id === holder.id)?.name
  const projects = useProjects(Number(organisation))
  const [chosen, setChosen] = useState(projectID.value)
  const project = projects?.find(p => p.id === chosen) ?? projects?.[0]
  const environments = useEnvironments(project?.id)
  const [chosenKey, setChosenKey] = useState(environmentKey.value)
  const environment = environments?.find(e => e.api_key === chosenKey) ?? environments?.[0]
  const holders = holder.kind === 'user' ? members : groups
  if (!name) return holders.data ? <Empty icon="members" title="There is nobody of that name" /> : <Waiting error={holders.error} />
  return (
    <div class="page">
      <p>
        <a href={`/organisations/${organisation}/members/${holder.kind === 'user' ? 'people' : 'groups'}`}>Members</a>
      </p>
      <h1>What {name} may do</h1>
      {member?.role === 'ADMIN' && <p class="warning">An administrator may do everything in the organisation, whatever is said below.</p>}
      <PermissionSet key={`${kind} ${id}`} holder={holder} level="organisations" object={organisation} title="In the organisation" />
      {project && (
        <PermissionSet
          key={`${kind} ${id} in ${project.id}`}
          holder={holder}
          level="projects"
          object={String(project.id)}
          title={`In the project ${project.name}`}
          choice={
            <Select hideLabel label="Project" value={String(project.id)} change={id => setChosen(Number(id))} options={projects!.map(p => ({ value: String(p.id), label: p.name }))} />
          }
        />
      )}
      {environment && (
        <PermissionSet
          key={`${kind} ${id} in ${environment.api_key}`}
          holder={holder}
          level="environments"
          object={environment.api_key}
          title={`In the environment ${environment.name}`}
          choice={<Select hideLabel label="Environment" value={environment.api_key} change={setChosenKey} options={environments!.map(e => ({ value: e.api_key, label: e.name }))} />}
        />
      )}
    </div>
  )
}
