import { useState } from 'preact/hooks'
import { useQuery } from '../../api/query'
import { ago, moment } from '../../parts/time'
import { Diff } from './Diff'
import { kinds, type AuditDetail, type AuditEntry } from './types'

/** AuditRow is one entry; opened, it tells from what to what. */
export function AuditRow({ entry: e, path }: { entry: AuditEntry; path: string }) {
  const [open, setOpen] = useState(false)
  const author = e.author ? `${e.author.first_name} ${e.author.last_name}`.trim() || e.author.email : e.is_system_event ? 'The installation' : 'A key'
  return (
    <li class="log-row">
      <button type="button" class="log-line" aria-expanded={open} onClick={() => setOpen(!open)}>
        <span class="log-what">{e.log}</span>
        <span class="log-who" title={e.author?.email}>
          {author}
        </span>
        <span class="chip">{e.environment?.name ?? kinds[e.related_object_type] ?? e.related_object_type}</span>
        <time class="muted" dateTime={e.created_date} title={moment(e.created_date)}>
          {ago(e.created_date)}
        </time>
      </button>
      {open && <Details path={path} />}
    </li>
  )
}

function Details({ path }: { path: string }) {
  const { data, error } = useQuery<AuditDetail>(path, [])
  if (error) return <p class="field-error">{error}</p>
  if (!data) return <p class="nothing">…</p>
  if (data.change_type === 'UNKNOWN') return <p class="nothing">What exactly changed is not known any more, or is not one thing alone.</p>
  return <Diff fields={data.change_details ?? []} caption={`What changed: ${data.log}`} />
}
