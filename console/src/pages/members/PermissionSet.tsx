import type { ComponentChildren } from 'preact'
import { useRef } from 'preact/hooks'
import { patchQuery, useQuery } from '../../api/query'
import { write } from '../../api/write'
import { Setting } from '../../parts/Setting'
import { Sheet } from '../../parts/Sheet'

/** Holder is who has permissions. */
export interface Holder {
  kind: 'user' | 'group'
  id: number
}

interface Entry {
  key: string
  description: string
}

interface Row {
  id: number
  permissions: string[]
  admin?: boolean
}

/** What a user may do, and from where; groups have no such answer. */
interface Detailed {
  admin: boolean
  derived_from: { groups: { name: string }[] }
  permissions: { permission_key: string; derived_from: { groups: { name: string }[] } }[]
}

interface Props {
  holder: Holder
  level: 'organisations' | 'projects' | 'environments'
  /** The id of the organisation or project, or the environment's key. */
  object: string
  title: string
  choice?: ComponentChildren
}

const models = ['Permission', 'UserPermissionGroupMembership']

/** PermissionSet is what a holder may do with one organisation, project or environment. Each tick is saved at once. */
export function PermissionSet({ holder, level, object, title, choice }: Props) {
  const base = `/api/v1/${level}/${encodeURIComponent(object)}/`
  const list = `${base}${holder.kind === 'user' ? 'user-permissions' : 'user-group-permissions'}/`
  const catalogue = useQuery<Entry[]>(`/api/v1/${level}/permissions/`, [])
  const ours = `${list}?${holder.kind}=${holder.id}`
  const rows = useQuery<Row[]>(ours, models)
  const detailed = useQuery<Detailed>(holder.kind === 'user' ? `${base}user-detailed-permissions/${holder.id}/` : null, models)
  const saving = useRef<Promise<number | undefined>>(Promise.resolve(undefined)) // of the row's id: one change after the other, or two would make a row each
  const wanted = useRef<{ row: Omit<Row, 'id'> | null; underWay: number }>({ row: null, underWay: 0 }) // what is read between two changes has not the second
  if (wanted.current.underWay === 0 && !rows.loading) wanted.current.row = null
  if (!catalogue.data || !rows.data) return <Sheet title={title} actions={choice}>{rows.error && <p class="field-error">{rows.error}</p>}</Sheet>
  const row = rows.data[0]
  const { permissions: granted = [], admin = false } = wanted.current.row ?? row ?? {}
  const save = (permissions: string[], admin: boolean, label: string) => {
    const body = { [holder.kind]: holder.id, permissions, ...(level === 'organisations' ? {} : { admin }) }
    wanted.current.row = { permissions, admin }
    wanted.current.underWay++
    patchQuery<Row[]>(ours, () => [{ id: row?.id ?? 0, permissions, admin }])
    const done = saving.current.then(async made => {
      const id = row?.id || made
      const answer = id ? await write<Row>('PUT', `${list}${id}/`, body, { label, models }) : await write<Row>('POST', list, body, { label, models })
      return answer.id
    })
    saving.current = done.catch(() => row?.id).finally(() => wanted.current.underWay--)
    return done
  }
  const from = (key: string) => {
    const groups = detailed.data?.permissions.find(p => p.permission_key === key)?.derived_from.groups ?? []
    return groups.length > 0 ? `Through ${groups.map(g => g.name).join(', ')}` : ''
  }
  const adminFrom = detailed.data?.derived_from.groups.map(g => g.name).join(', ')
  return (
    <Sheet title={title} actions={choice}>
      {level !== 'organisations' && (
        <Setting
          title="Everything"
          text={`Administers the ${level === 'projects' ? 'project with all its environments' : 'environment'}.${adminFrom ? ` Through ${adminFrom}.` : ''}`}
          on={admin}
          change={on => save(granted, on, on ? 'Everything allowed' : 'Not everything allowed any more')}
        />
      )}
      <fieldset class="permissions" disabled={admin}>
        <legend class="visually-hidden">{title}</legend>
        {catalogue.data.map(p => (
          <label key={p.key} class="permission">
            <input
              type="checkbox"
              checked={admin || granted.includes(p.key)}
              onChange={e => {
                const on = e.currentTarget.checked
                void save(on ? [...granted, p.key] : granted.filter(k => k !== p.key), admin, `${nameOf(p.key)} ${on ? 'allowed' : 'not allowed any more'}`).catch(() => {})
              }}
            />
            <span>
              {nameOf(p.key)}
              <span class="sub">{p.description}</span>
            </span>
            {from(p.key) && <span class="chip">{from(p.key)}</span>}
          </label>
        ))}
      </fieldset>
    </Sheet>
  )
}

/** nameOf is a key as words: "Create feature". */
const nameOf = (key: string) => key.charAt(0) + key.slice(1).toLowerCase().replaceAll('_', ' ')
