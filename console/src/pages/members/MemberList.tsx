import { useState } from 'preact/hooks'
import { write } from '../../api/write'
import { Ago } from '../../parts/Ago'
import { Confirm } from '../../parts/Confirm'
import { RemoveButton } from '../../parts/RemoveButton'
import { Select } from '../../parts/Select'
import { Sheet } from '../../parts/Sheet'
import { Table } from '../../parts/Table'
import { me } from '../../state/session'
import { groupModels, memberModels, organisationPath, personName, type Member } from './types'

interface Props {
  organisation: number
  members: Member[] | undefined
  admin: boolean
}

/** MemberList is who belongs to the organisation, and with which role. */
export function MemberList({ organisation, members, admin }: Props) {
  const [removing, setRemoving] = useState<Member | null>(null)
  const setRole = (m: Member, role: string) =>
    write('POST', `${organisationPath(organisation)}users/${m.id}/update-role/`, { role }, {
      label: `${m.email} is ${role === 'ADMIN' ? 'an administrator' : 'a member'}`,
      models: memberModels,
    }).catch(() => {})
  return (
    <Sheet title="People">
      <Table caption="People" head={['Name', 'Role', 'Last sign-in', '-Actions']}>
        {members?.map(m => (
          <tr key={m.id}>
            <th scope="row">
              {personName(m)}
              {m.id === me.value?.id && ' (you)'}
              <span class="sub">{m.email}</span>
            </th>
            <td>
              {admin && m.id !== me.value?.id ? <Select hideLabel label={`Role of ${m.email}`} value={m.role} change={role => void setRole(m, role)} options={roles} /> : roles.find(r => r.value === m.role)?.label}
            </td>
            <td>{m.last_login ? <Ago time={m.last_login} /> : 'never'}</td>
            <td class="end">
              {admin && m.role !== 'ADMIN' && (
                <a class="button small" href={`/organisations/${organisation}/permissions/user/${m.id}`} aria-label={`Permissions of ${m.email}`}>
                  Permissions
                </a>
              )}
              {admin && (
                <RemoveButton label={`Remove ${m.email}`} remove={() => setRemoving(m)} />
              )}
            </td>
          </tr>
        ))}
      </Table>
      {removing && (
        <Confirm
          title={`Remove ${removing.email}?`}
          button="Remove from the organisation"
          close={() => setRemoving(null)}
          run={() =>
            write('POST', `${organisationPath(organisation)}remove-users/`, [{ id: removing.id }], { label: `${removing.email} removed`, models: [...memberModels, ...groupModels, 'Permission'], quiet: true })
          }
        >
          The account stays; it sees nothing of this organisation any more.
        </Confirm>
      )}
    </Sheet>
  )
}

export const roles = [
  { value: 'USER', label: 'Member' },
  { value: 'ADMIN', label: 'Administrator' },
]
