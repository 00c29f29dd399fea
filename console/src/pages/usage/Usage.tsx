import { useState } from 'preact/hooks'
import '../../styles/usage.css'
import { useQuery } from '../../api/query'
import { count } from '../../parts/amount'
import { Empty } from '../../parts/Empty'
import { Select } from '../../parts/Select'
import { Sheet } from '../../parts/Sheet'
import { Table } from '../../parts/Table'
import { useEnvironments, useOrganisations, useProjects } from '../../state/place'
import { Columns, dayName } from './Columns'
import { kinds, perDay, total, type Used } from './usage'

/** Usage is how much clients asked for. */
export function Usage({ organisation: id }: { organisation: string }) {
  const organisation = useOrganisations()?.find(o => o.id === Number(id))
  const [chosen, setChosen] = useState({ project: '', environment: '', period: '' })
  const projects = useProjects(Number(id))
  const environments = useEnvironments(chosen.project ? Number(chosen.project) : undefined)
  const q = new URLSearchParams()
  if (chosen.project) q.set('project_id', chosen.project)
  if (chosen.environment) q.set('environment_id', chosen.environment)
  if (chosen.period) q.set('period', chosen.period)
  const used = useQuery<Used[]>(`/api/v1/organisations/${id}/usage-data/${q.size > 0 ? `?${q}` : ''}`, ['Usage'])
  if (used.error && !used.data) return <Empty icon="alert" title={used.error} />
  const days = perDay(used.data ?? [], chosen.period ? 90 : 30)
  const all = days.reduce((sum, d) => sum + total(d), 0)
  return (
    <div class="page">
      <h1>Usage</h1>
      <p class="page-lead">What clients of {organisation?.name ?? 'the organisation'} asked for, by day (UTC). Nodes add their counts every ten seconds.</p>
      <div class="usage-filters">
        <Select
          label="Project"
          value={chosen.project}
          change={project => setChosen({ ...chosen, project, environment: '' })}
          options={[{ value: '', label: 'All' }, ...(projects ?? []).map(p => ({ value: String(p.id), label: p.name }))]}
        />
        {chosen.project && (
          <Select
            label="Environment"
            value={chosen.environment}
            change={environment => setChosen({ ...chosen, environment })}
            options={[{ value: '', label: 'All' }, ...(environments ?? []).map(e => ({ value: String(e.id), label: e.name }))]}
          />
        )}
        <Select
          label="Period"
          value={chosen.period}
          change={period => setChosen({ ...chosen, period })}
          options={[
            { value: '', label: '30 days' },
            { value: '90_day_period', label: '90 days' },
          ]}
        />
      </div>
      <Sheet title={`${count(all)} ${all === 1 ? 'request' : 'requests'}`}>
        {used.data && all === 0 ? <p class="nothing">No client asked for anything in this time.</p> : <Columns days={days} />}
      </Sheet>
      {all > 0 && (
        <Sheet title="By day">
          <Table caption="Requests by day" head={['Day', ...kinds.map(k => k.title), 'Together']}>
            {days
              .filter(d => total(d) > 0)
              .toReversed()
              .map(d => (
                <tr key={d.day}>
                  <th scope="row">{dayName(d.day)}</th>
                  {kinds.map(k => (
                    <td key={k.key}>{count(d[k.key])}</td>
                  ))}
                  <td>{count(total(d))}</td>
                </tr>
              ))}
          </Table>
        </Sheet>
      )}
    </div>
  )
}
