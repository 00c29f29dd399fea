import { useState } from 'preact/hooks'
import '../../styles/audit.css'
import { useQuery } from '../../api/query'
import { Empty } from '../../parts/Empty'
import { Field } from '../../parts/Field'
import { ago, moment } from '../../parts/time'
import { Diff } from './Diff'
import type { Change } from './types'

const models = ['*']

/** Changes is every write of the installation with each field before and after, for superusers. */
export function Changes() {
  const [model, setModel] = useState('')
  const [before, setBefore] = useState<number[]>([])
  const q = new URLSearchParams({ limit: '50' })
  if (model.trim()) q.set('model', model.trim())
  if (before.length > 0) q.set('before', String(before.at(-1)))
  const { data, error } = useQuery<{ next: string | null; results: Change[] }>(`/api/flagraft/v1/changes/?${q}`, models)
  return (
    <div class="page">
      <h1>All changes</h1>
      <p class="page-lead">Every write of the installation, row by row and field by field. Secrets are never shown.</p>
      <search class="log-filters" aria-label="Filters">
        <Field
          label="Table"
          type="search"
          autocomplete="off"
          placeholder="Feature, Environment, Webhook…"
          value={model}
          change={m => {
            setModel(m)
            setBefore([])
          }}
        />
      </search>
      {error && !data && <Empty icon="alert" title={error} />}
      {data?.results.length === 0 && <Empty icon="audit" title="Nothing passes the filter" />}
      {!!data?.results.length && (
        <>
          <ol class="log">
            {data.results.map(c => (
              <Write key={c.id} change={c} />
            ))}
          </ol>
          <nav class="pager" aria-label="Pages">
            <button type="button" class="button small" disabled={before.length === 0} onClick={() => setBefore(before.slice(0, -1))}>
              Newer
            </button>
            <button type="button" class="button small" disabled={data.next === null} onClick={() => setBefore([...before, data.results.at(-1)!.id])}>
              Older
            </button>
          </nav>
        </>
      )}
    </div>
  )
}

const verbs = { CREATE: 'made', UPDATE: 'changed', DELETE: 'deleted' }

function Write({ change: c }: { change: Change }) {
  const [open, setOpen] = useState(false)
  return (
    <li class="log-row">
      <button type="button" class="log-line" aria-expanded={open} onClick={() => setOpen(!open)}>
        <span class="log-what">{c.note || summary(c)}</span>
        <span class="log-who">{c.author.name || 'The installation'}</span>
        <span class="chip">{c.index}</span>
        <time class="muted" dateTime={c.time} title={moment(c.time)}>
          {ago(c.time)}
        </time>
      </button>
      {open &&
        c.changes.map(r => (
          <section key={`${r.model} ${r.id}`} class="log-row-part">
            <h2>
              {r.model} {r.id} {verbs[r.change_type]}
            </h2>
            <Diff fields={r.changes} caption={`${r.model} ${r.id}`} />
          </section>
        ))}
    </li>
  )
}

/** summary counts rows: "Feature made, 2 FeatureState made". */
function summary(c: Change): string {
  const groups = new Map<string, number>()
  for (const r of c.changes) {
    const name = `${r.model} ${verbs[r.change_type]}`
    groups.set(name, (groups.get(name) ?? 0) + 1)
  }
  return [...groups].map(([name, n]) => (n > 1 ? `${n} ${name}` : name)).join(', ')
}
