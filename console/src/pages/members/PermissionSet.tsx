import type { ComponentChildren } from 'preact'
import { useRef } from 'preact/hooks'
import { patchQuery, useQuery } from '../../api/query'
import { write } from '../../api/write'
import { Setting } from '../../parts/Setting'
import { Sheet } from '../../parts/Sheet'
import { useTicks } from '../../parts/useTicks'

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
  const row = rows.data?.[0]
  const ticks = useTicks<Omit<Row, 'id'>>(row ?? { permissions: [] })
  const made = useRef<number | undefined>(undefined) // the row that the first of several ticks made: another one would make a second
  if (!ticks.busy) made.current = undefined
  if (!catalogue.data || !rows.data) return <Sheet title={title} actions={choice}>{rows.error && <p class="field-error">{rows.error}</p>}</Sheet>
  const { permissions: granted, admin = false } = ticks.value
  const save = (change: Partial<Omit<Row, 'id'>>, label: string) => {
    const { permissions, admin = false } = { ...ticks.value, ...change }
    const body = { [holder.kind]: holder.id, permissions, ...(level === 'organisations' ? {} : { admin }) }
    return ticks.change({ permissions, admin }, async () => {
      const id = row?.id ?? made.current
      const answer = id ? await write<Row>('PUT', `${list}${id}/`, body, { label, models }) : await write<Row>('POST', list, body, { label, models })
      made.current = answer.id
      patchQuery<Row[]>(ours, () => [{ id: answer.id, permissions, admin }])
    })
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
          change={on => save({ admin: on }, on ? 'Everything allowed' : 'Not everything allowed any more')}
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
                const { permissions } = ticks.value
                void save({ permissions: on ? [...permissions, p.key] : permissions.filter(k => k !== p.key) }, `${nameOf(p.key)} ${on ? 'allowed' : 'not allowed any more'}`).catch(() => {})
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
