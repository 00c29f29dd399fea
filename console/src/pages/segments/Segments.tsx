import { useLocation } from 'preact-iso'
import '../../styles/segments.css'
import { useList } from '../../api/query'
import type { Feature } from '../../api/types'
import { linkIn } from '../../links'
import { Empty } from '../../parts/Empty'
import { Icon } from '../../parts/Icon'
import { Menu } from '../../parts/Menu'
import { featureModels, featuresPath } from '../features/flag'
import { segmentModels, segmentsPath, sentence, type RuledSegment } from './rules'
import { SegmentPage } from './SegmentPage'
import { useAnEnvironment } from './useAnEnvironment'

const kinds = { '': 'All segments', general: 'For all features', feature: 'Of one feature' } as const
type Kind = keyof typeof kinds

interface Props {
  project: number
  segment?: string
}

/** Segments lists the segments of a project; the address may name one, or "new". */
export function Segments({ project, segment }: Props) {
  return segment === undefined ? <List project={project} /> : <SegmentPage key={segment} project={project} segment={segment} />
}

function List({ project }: { project: number }) {
  const { query, route } = useLocation()
  const environment = useAnEnvironment(project)
  const segments = useList<RuledSegment>(segmentsPath(project), segmentModels)
  const features = useList<Feature>(environment ? featuresPath(project, environment.id) : null, featureModels).data
  const kind = (query.kind !== undefined && query.kind in kinds ? query.kind : '') as Kind
  const search = query.q ?? ''
  const change = (q: string, k: Kind) => {
    const params = new URLSearchParams({ ...(q && { q }), ...(k && { kind: k }) })
    route(`/projects/${project}/segments${params.size > 0 ? `?${params}` : ''}`, true)
  }
  const words = search.toLowerCase().split(/\s+/).filter(Boolean)
  const shown = segments.data?.filter(s => (kind === '' || (kind === 'feature') === (s.feature !== null)) && words.every(w => `${s.name} ${s.description ?? ''}`.toLowerCase().includes(w)))
  const add = (
    <a class="button primary" href={linkIn('project', 'segments', 'new') ?? '#'}>
      <Icon name="plus" size={16} /> New segment
    </a>
  )
  return (
    <div class="page">
      <div class="page-head">
        <h1>
          Segments {segments.data && <span class="count">{shown!.length === segments.data.length ? shown!.length : `${shown!.length} of ${segments.data.length}`}</span>}
        </h1>
        {add}
      </div>
      <p class="page-lead">Groups of users by their traits. A feature can have another value for each.</p>
      <div class="list-filters" role="search">
        <div class="search">
          <Icon name="search" size={16} />
          <input class="input" type="search" aria-label="Search segments" placeholder="Search by name or description" value={search} onInput={e => change(e.currentTarget.value, kind)} />
        </div>
        <Menu
          class="picker"
          label="Kind"
          align="right"
          choices={(Object.keys(kinds) as Kind[]).map(k => ({ label: kinds[k], chosen: k === kind, run: () => change(search, k) }))}
          button={
            <>
              {kinds[kind]}
              <Icon name="chevron" size={16} />
            </>
          }
        />
      </div>
      {segments.error && !segments.data && <Empty icon="alert" title={segments.error} />}
      {segments.data?.length === 0 && <Empty icon="segment" title="No segment yet">{add}</Empty>}
      {segments.data && segments.data.length > 0 && shown!.length === 0 && (
        <Empty icon="search" title="No segment passes the filters">
          <button type="button" class="button" onClick={() => change('', '')}>
            Show all
          </button>
        </Empty>
      )}
      <ul class="list-rows">
        {shown?.map(s => (
          <li key={s.id}>
            <a class="list-row" href={linkIn('project', 'segments', s.id) ?? '#'}>
              <span class="list-row-head">
                <strong>{s.name}</strong>
                {s.feature !== null && (
                  <span class="chip">
                    <Icon name="flag" size={13} /> {features?.find(f => f.id === s.feature)?.name ?? 'one feature'}
                  </span>
                )}
                {s.description && <span class="muted list-row-note">{s.description}</span>}
              </span>
              <span class="list-row-text">{sentence(s.rules)}</span>
            </a>
          </li>
        ))}
      </ul>
    </div>
  )
}
