import { useLocation } from 'preact-iso'
import { useId } from 'preact/hooks'
import '../../styles/members.css'
import { useList, useQuery } from '../../api/query'
import { Empty } from '../../parts/Empty'
import { Tabs } from '../../parts/Tabs'
import { Waiting } from '../../parts/Waiting'
import { useOrganisations } from '../../state/place'
import { Groups } from './Groups'
import { Invitations } from './Invitations'
import { MemberList } from './MemberList'
import { groupModels, memberModels, organisationPath, type Group, type Member } from './types'

interface Props {
  organisation: string
  tab?: string
}

/** Members are the people of an organisation, the groups they are in, and who is invited. */
export function Members({ organisation: id, tab = 'people' }: Props) {
  const { route } = useLocation()
  const panel = useId()
  const organisations = useOrganisations()
  const organisation = organisations?.find(o => o.id === Number(id))
  const members = useQuery<Member[]>(`${organisationPath(id)}users/`, memberModels)
  const groups = useList<Group>(`${organisationPath(id)}groups/`, groupModels)
  const mine = useQuery<{ permissions: string[]; admin: boolean }>(`${organisationPath(id)}my-permissions/`, ['Permission', ...memberModels, ...groupModels]).data
  if (!organisation) return <Waiting error={organisations && 'There is no such organisation.'} />
  const admin = organisation.role === 'ADMIN'
  const manages = admin || !!mine?.permissions.includes('MANAGE_USER_GROUPS')
  const tabs = [
    { key: 'people', title: 'People', count: members.data?.length },
    // The API lists the groups that one manages, all or single ones.
    ...(manages || groups.data?.length ? [{ key: 'groups', title: 'Groups', count: groups.data?.length }] : []),
    ...(admin ? [{ key: 'invitations', title: 'Invitations' }] : []),
  ]
  const failure = members.data ? groups.error : members.error
  const chosen = tabs.find(t => t.key === tab) ?? tabs[0]!
  return (
    <div class="page">
      <h1>Members</h1>
      <p class="page-lead">Administrators of {organisation.name} may do everything in it. What others may do is said for each project and environment.</p>
      <Tabs label="Members" tabs={tabs} chosen={chosen.key} panel={panel} choose={key => route(`/organisations/${id}/members/${key}`, true)} />
      <div id={panel} role="tabpanel" aria-label={chosen.title}>
        {failure && <Empty icon="alert" title={failure} />}
        {chosen.key === 'people' && <MemberList organisation={organisation.id} members={members.data} admin={admin} />}
        {chosen.key === 'groups' && <Groups organisation={organisation.id} groups={groups.data} members={members.data ?? []} admin={admin} manages={manages} />}
        {chosen.key === 'invitations' && <Invitations organisation={organisation.id} />}
      </div>
    </div>
  )
}
