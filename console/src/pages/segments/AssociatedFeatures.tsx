import { useList } from '../../api/query'
import type { Feature } from '../../api/types'
import { environmentLink } from '../../links'
import { Icon } from '../../parts/Icon'
import { useEnvironments } from '../../state/place'
import { stateModels } from '../features/flag'
import { segmentsPath, type RuledSegment } from './rules'

interface State {
  id: number
  feature: number
  environment: number
}

/** AssociatedFeatures are those that the segment overrides, and where. */
export function AssociatedFeatures({ project, segment, features }: { project: number; segment: RuledSegment; features: Feature[] }) {
  const states = useList<State>(`${segmentsPath(project)}${segment.id}/associated-features/`, stateModels)
  const environments = useEnvironments(project) ?? []
  const ids = [...new Set(states.data?.map(s => s.feature))]
  return (
    <section class="block" aria-labelledby="associated">
      <h2 id="associated">Features that it overrides</h2>
      {states.error && <p class="field-error">{states.error}</p>}
      {states.data?.length === 0 && <p class="muted">None. A feature’s overrides are made on its own page.</p>}
      <ul class="associated">
        {ids.map(id => (
          <li key={id}>
            <Icon name="flag" size={16} />
            <strong>{features.find(f => f.id === id)?.name ?? `Feature ${id}`}</strong> <span class="muted">in</span>
            {environments
              .filter(e => states.data!.some(s => s.feature === id && s.environment === e.id))
              .map(e => (
                <span key={e.id}>
                  {' '}
                  <a href={environmentLink(project, e.api_key, 'features', id, 'overrides')}>{e.name}</a>
                </span>
              ))}
          </li>
        ))}
      </ul>
    </section>
  )
}
