import { useState } from 'preact/hooks'
import { write } from '../../api/write'
import { Confirm } from '../../parts/Confirm'
import { Icon } from '../../parts/Icon'
import { NewRow } from '../../parts/NewRow'
import { Sheet } from '../../parts/Sheet'
import { Switch } from '../../parts/Switch'
import { me } from '../../state/session'
import { groupModels, organisationPath, personName, type Group, type Member } from './types'

interface Props {
  organisation: number
  groups: Group[] | undefined
  members: Member[]
  admin: boolean
  /** All groups, and makes new ones; others see those that they are the admins of. */
  manages: boolean
}

const models = groupModels

/** Groups give several people the same permissions. */
export function Groups({ organisation, groups, members, admin, manages }: Props) {
  const base = `${organisationPath(organisation)}groups/`
  return (
    <>
      {groups?.map(g => (
        <GroupSheet key={g.id} base={`${base}${g.id}/`} group={g} members={members} admin={admin} permissions={admin ? `/organisations/${organisation}/permissions/group/${g.id}` : null} />
      ))}
      {manages && (
        <Sheet title="New group" text="What a group may do, everybody in it may do.">
          <NewRow label="Name of a new group" button="Make the group" make={name => write('POST', base, { name }, { label: `Group ${name} made`, models, quiet: true })} />
        </Sheet>
      )}
    </>
  )
}

interface SheetProps {
  base: string
  group: Group
  members: Member[]
  admin: boolean
  permissions: string | null
}

function GroupSheet({ base, group: g, members, admin, permissions }: SheetProps) {
  const [deleting, setDeleting] = useState(false)
  const free = (id: number) => admin || id !== me.value?.id // only administrators put themselves in or out
  const others = members.filter(m => free(m.id) && !g.users.some(u => u.id === m.id))
  const add = (id: number) =>
    write('POST', `${base}add-users/`, { user_ids: [id] }, { label: `${members.find(m => m.id === id)?.email} is in ${g.name}`, models }).catch(() => {})
  return (
    <Sheet
      title={g.name}
      text={g.is_default ? 'New members of the organisation are in it from the start.' : undefined}
      actions={
        <>
          {permissions && (
            <a class="button small" href={permissions} aria-label={`Permissions of ${g.name}`}>
              Permissions
            </a>
          )}
          <button type="button" class="button small danger" onClick={() => setDeleting(true)}>
            Delete…<span class="visually-hidden"> the group {g.name}</span>
          </button>
        </>
      }
    >
      <ul class="people" aria-label={`People in ${g.name}`}>
        {g.users.length === 0 && <li class="nothing">Nobody is in it.</li>}
        {g.users.map(u => (
          <li key={u.id} class="chip person">
            <span title={u.email}>{personName(u)}</span>
            {free(u.id) && (
              <button
                type="button"
                aria-label={`Take ${u.email} out of ${g.name}`}
                onClick={() => void write('POST', `${base}remove-users/`, { user_ids: [u.id] }, { label: `${u.email} is not in ${g.name} any more`, models }).catch(() => {})}
              >
                <Icon name="close" size={14} />
              </button>
            )}
          </li>
        ))}
      </ul>
      <div class="group-foot">
        {others.length > 0 && (
          <select class="select" aria-label={`Add somebody to ${g.name}`} value="" onChange={e => void add(Number(e.currentTarget.value))}>
            <option value="">Add somebody…</option>
            {others.map(m => (
              <option key={m.id} value={m.id}>
                {m.email}
              </option>
            ))}
          </select>
        )}
        <label class="mark">
          <Switch
            on={g.is_default}
            label={`New members are in ${g.name}`}
            change={on => void write('PATCH', base, { is_default: on }, { label: `${g.name} ${on ? 'takes' : 'does not take'} new members`, models }).catch(() => {})}
          />
          For new members
        </label>
      </div>
      {deleting && (
        <Confirm
          title={`Delete the group ${g.name}?`}
          button="Delete the group"
          close={() => setDeleting(false)}
          run={() => write('DELETE', base, undefined, { label: `Group ${g.name} deleted`, models: [...models, 'Permission'], quiet: true })}
        >
          The people stay; what they may do through the group alone, they may not do any more.
        </Confirm>
      )}
    </Sheet>
  )
}
