import { useQuery } from '../../api/query'
import { Field } from '../../parts/Field'
import { Select } from '../../parts/Select'
import { useTyped } from '../../parts/useTyped'
import { organisationID, useEnvironments } from '../../state/place'
import type { AuditFilter } from './filter'
import { kinds } from './types'

interface Props {
  project: number
  filter: AuditFilter
  change: (filter: AuditFilter) => void
}

/** AuditFilters choose what the log shows. */
export function AuditFilters({ project, filter, change }: Props) {
  const environments = useEnvironments(project)
  const members = useQuery<{ id: number; email: string }[]>(organisationID.value === undefined ? null : `/api/v1/organisations/${organisationID.value}/users/`, ['OrganisationUser'])
  const [search, setSearch] = useTyped(filter.search ?? '', search => change({ ...filter, search }), 250)
  const set = (name: keyof AuditFilter) => (value: string) => change({ ...filter, [name]: value })
  return (
    <search class="log-filters" aria-label="Filters">
      <Field label="Search" type="search" autocomplete="off" value={search} change={setSearch} />
      <Select
        label="Environment"
        value={filter.environment ?? ''}
        change={set('environment')}
        options={[{ value: '', label: 'All' }, ...(environments ?? []).map(e => ({ value: String(e.id), label: e.name }))]}
      />
      <Select
        label="Author"
        value={filter.author ?? ''}
        change={set('author')}
        options={[{ value: '', label: 'Anybody' }, ...(members.data ?? []).map(m => ({ value: String(m.id), label: m.email }))]}
      />
      <Select label="Kind" value={filter.kind ?? ''} change={set('kind')} options={[{ value: '', label: 'All' }, ...Object.entries(kinds).map(([value, label]) => ({ value, label }))]} />
      <Field label="From" type="date" value={filter.from ?? ''} change={set('from')} />
      <Field label="To" type="date" value={filter.to ?? ''} change={set('to')} />
    </search>
  )
}
