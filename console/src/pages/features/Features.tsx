import { useLocation } from 'preact-iso'
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import '../../styles/features.css'
import { useList } from '../../api/query'
import type { Feature, Tag } from '../../api/types'
import { Empty } from '../../parts/Empty'
import { Icon } from '../../parts/Icon'
import { environmentLink } from '../../links'
import { useNamedEnvironment } from '../../state/place'
import { NewFeature } from './NewFeature'
import { FeaturePanel } from './FeaturePanel'
import { FeatureTable } from './FeatureTable'
import { FilterBar } from './FilterBar'
import { apply, readFilter, writeFilter, type Filter } from './filter'
import { featureModels, featuresPath } from './flag'

interface Props {
  project: number
  environment: string
  feature?: string
  tab?: string
}

/** Features lists the flags of an environment; the address may name one, which is opened beside the list. */
export function Features({ project, environment: key, feature, tab = 'value' }: Props) {
  const { path, query, route } = useLocation()
  const { environment, error } = useNamedEnvironment(project, key)
  const tags = useList<Tag>(`/api/v1/projects/${project}/tags/`, ['Tag']).data
  const features = useList<Feature>(environment ? featuresPath(project, environment.id) : null, featureModels)
  const [making, setMaking] = useState(false)
  const filter = readFilter(query)
  const shown = useMemo(() => apply(filter, features.data ?? []), [features.data, writeFilter(filter)])
  const opened = feature === undefined ? undefined : features.data?.find(f => f.id === Number(feature))
  const before = useRef<number>(undefined)
  useLayoutEffect(() => {
    const closed = before.current
    before.current = opened?.id
    if (closed === undefined || opened || document.activeElement !== document.body) return
    document.querySelector<HTMLElement>(`.feature-name[href="${environmentLink(project, key, 'features', closed)}${writeFilter(filter)}"]`)?.focus()
  }, [opened?.id])
  const change = (f: Filter) => route(path + writeFilter(f), true) // what is open beside the list stays open
  return (
    <div class={`features ${opened ? 'opened' : ''}`}>
     <div class="features-list">
      <div class="features-head">
        <h1>
          Features{' '}
          {features.data && (
            <span class="count">{shown.length === features.data.length ? shown.length : `${shown.length} of ${features.data.length}`}</span>
          )}
        </h1>
        <button type="button" class="button primary" onClick={() => setMaking(true)}>
          <Icon name="plus" size={16} /> New feature
        </button>
      </div>
      {feature !== undefined && features.data && !opened && (
        <p class="field-error" role="status">
          There is no such feature, or not any more.
        </p>
      )}
      <FilterBar filter={filter} change={change} tags={tags ?? []} />
      {(error || (features.error && !features.data)) && <Empty icon="alert" title={(error ?? features.error)!} />}
      {features.data && environment && shown.length > 0 && (
        <FeatureTable project={project} environment={environment} features={shown} tags={tags ?? []} query={writeFilter(filter)} opened={opened?.id} />
      )}
      {features.data?.length === 0 && (
        <Empty icon="flag" title="No feature yet">
          <p>A feature is a switch with a value that your program asks for by name.</p>
        </Empty>
      )}
      {features.data && features.data.length > 0 && shown.length === 0 && (
        <Empty icon="search" title="No feature passes the filters">
          <button type="button" class="button" onClick={() => change(readFilter({}))}>
            Show all
          </button>
        </Empty>
      )}
     </div>
      {opened && environment && <FeaturePanel key={`${environment.id} ${opened.id}`} spot={{ project, environment, feature: opened }} tags={tags ?? []} tab={tab} query={writeFilter(filter)} />}
      {making && <NewFeature project={project} close={() => setMaking(false)} />}
    </div>
  )
}
