import { useEffect, useState } from 'preact/hooks'
import { changed, useQuery } from '../../api/query'
import type { Page } from '../../api/types'
import { Ago } from '../../parts/Ago'
import { Select } from '../../parts/Select'
import { Table } from '../../parts/Table'
import { ago } from '../../parts/time'
import type { Delivery, Webhook } from './types'

const outcomes: Record<Delivery['outcome'], [title: string, dot: string]> = {
  waiting: ['Waiting', 'warn'],
  delivered: ['Delivered', 'ok'],
  refused: ['Refused', 'bad'],
  given_up: ['Given up', 'bad'],
}

// What becomes of deliveries is in no change log: this name stands for them.
const model = ['WebhookDelivery']
const every = 3000

/** Deliveries are the events of a webhook, newest first. */
export function Deliveries({ hook }: { hook: Webhook }) {
  const [outcome, setOutcome] = useState('')
  const list = useQuery<Page<Delivery>>(`/api/flagraft/v1/webhooks/${hook.id}/deliveries/?page_size=20${outcome ? `&outcome=${outcome}` : ''}`, model)
  useEffect(() => {
    const timer = setInterval(() => document.visibilityState === 'visible' && changed(model), every)
    return () => clearInterval(timer)
  }, [])
  if (list.error && !list.data) return <p class="field-error">{list.error}</p>
  return (
    <>
      <div class="deliveries-head">
        <h3>Deliveries</h3>
        <Select
          hideLabel
          label={`Deliveries to ${hook.url} that are shown`}
          value={outcome}
          change={setOutcome}
          options={[{ value: '', label: 'All' }, ...Object.entries(outcomes).map(([value, [label]]) => ({ value, label }))]}
        />
      </div>
      {list.data?.count === 0 && <p class="nothing">{outcome ? 'None is so.' : 'Nothing has happened yet.'}</p>}
      {!!list.data?.count && (
        <Table caption={`Deliveries to ${hook.url}`} head={['Event', 'Happened', 'Outcome', 'Attempts', 'Answer']}>
          {list.data.results.map(d => (
            <tr key={d.id}>
              <th scope="row">
                <code>{d.event_type}</code>
              </th>
              <td>
                <Ago time={d.created_at} />
              </td>
              <td>
                <span class="mark">
                  <span class={`dot ${outcomes[d.outcome][1]}`} /> {outcomes[d.outcome][0]}
                </span>
                {d.due_at && <span class="sub">next {ago(d.due_at)}</span>}
              </td>
              <td>{d.attempts}</td>
              <td>
                {d.status ?? '–'}
                {d.error && <span class="sub">{d.error}</span>}
              </td>
            </tr>
          ))}
        </Table>
      )}
    </>
  )
}
