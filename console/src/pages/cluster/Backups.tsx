import { useState } from 'preact/hooks'
import { messageOf } from '../../api/error'
import { useQuery } from '../../api/query'
import { download } from '../../api/request'
import { write } from '../../api/write'
import { Ago } from '../../parts/Ago'
import { bytes } from '../../parts/amount'
import { Icon } from '../../parts/Icon'
import { RemoveButton } from '../../parts/RemoveButton'
import { Sheet } from '../../parts/Sheet'
import { Switch } from '../../parts/Switch'
import { Table } from '../../parts/Table'
import { useOnce } from '../../parts/useOnce'
import { failed } from '../../state/receipts'
import { NewSchedule } from './NewSchedule'
import { schedulesPath, type Schedule } from './types'

const models = ['BackupSchedule']

/** Backups takes one now, and shows those that the cluster takes by itself. */
export function Backups() {
  const schedules = useQuery<Schedule[]>(schedulesPath, models)
  const [making, setMaking] = useState(false)
  const [busy, setBusy] = useState(false)
  const take = async () => {
    setBusy(true)
    await download('/api/flagraft/v1/backup/').catch(e => failed('No backup', messageOf(e)))
    setBusy(false)
  }
  const patch = (s: Schedule, body: Partial<Schedule>, label: string) => write('PATCH', `${schedulesPath}${s.id}/`, body, { label, models }).catch(() => {})
  const run = useOnce(
    (s: Schedule) => write('POST', `${schedulesPath}${s.id}/run/`, undefined, { label: `A backup of ${s.name} is being taken`, models }),
    s => s.id,
  )
  return (
    <Sheet
      title="Backups"
      text="A backup is one file with everything, secrets included. The nodes go on serving."
      actions={
        <>
          <button type="button" class="button" disabled={busy} onClick={() => void take()}>
            {busy ? 'Taking it…' : 'Download a backup'}
          </button>
          <button type="button" class="button" onClick={() => setMaking(true)}>
            <Icon name="plus" size={16} /> New schedule
          </button>
        </>
      }
    >
      {schedules.data?.length === 0 && <p class="nothing">No backups are taken by themselves yet.</p>}
      {!!schedules.data?.length && (
        <Table caption="Backup schedules" head={['Schedule', 'Next', 'Last run', 'Last good backup', 'Keeps', 'On', '-Actions']}>
          {schedules.data.map(s => (
            <tr key={s.id}>
              <th scope="row">
                {s.name}
                <span class="sub">
                  <code>{s.when}</code> to <code>{s.target}</code>
                </span>
              </th>
              <td>{s.enabled && s.due ? <Ago time={s.due} /> : '–'}</td>
              <td>
                {s.last_run ? <Ago time={s.last_run} /> : 'never'}
                {s.last_error && <span class="sub field-error">{s.last_error}</span>}
              </td>
              <td>
                {s.last_success ? <Ago time={s.last_success} /> : 'none'}
                {s.last_file && (
                  <span class="sub">
                    {s.last_file}, {bytes(s.last_bytes)}
                  </span>
                )}
              </td>
              <td>{s.keep === 0 ? 'all' : s.keep}</td>
              <td>
                <Switch on={s.enabled} label={`Schedule ${s.name}`} change={on => void patch(s, { enabled: on }, `Schedule ${s.name} switched ${on ? 'on' : 'off'}`)} />
              </td>
              <td class="end">
                <button type="button" class="button small" disabled={!s.enabled} onClick={() => void run(s)}>
                  Run now
                </button>
                <RemoveButton label={`Remove the schedule ${s.name}; its files stay`} remove={() => write('DELETE', `${schedulesPath}${s.id}/`, undefined, { label: `Schedule ${s.name} removed`, models })} />
              </td>
            </tr>
          ))}
        </Table>
      )}
      {making && <NewSchedule close={() => setMaking(false)} />}
    </Sheet>
  )
}
