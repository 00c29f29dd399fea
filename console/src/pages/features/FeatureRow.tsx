import type { Tag } from '../../api/types'
import { environmentLink } from '../../links'
import { Icon } from '../../parts/Icon'
import { Switch } from '../../parts/Switch'
import { ago, moment } from '../../parts/time'
import { switchFlag, type Spot } from './flag'
import { ValueCell } from './ValueCell'

interface Props {
  spot: Spot
  tags: Tag[]
  row: number
  top: number
  height: number
  query: string
  current: boolean
}

/** FeatureRow is a feature in the list: switched and edited in place. */
export function FeatureRow({ spot, tags, row, top, height, query, current }: Props) {
  const { feature: f, environment, project } = spot
  const state = f.environment_feature_state
  const mine = tags.filter(t => f.tags.includes(t.id))
  const changed = f.last_modified_in_current_environment ?? f.created_date
  return (
    <div role="row" class="feature-row" aria-current={current || undefined} aria-rowindex={row + 2} style={{ transform: `translateY(${top}px)`, height: `${height}px` }}>
      <span role="cell" class="cell-switch">
        <Switch on={state?.enabled ?? false} label={f.name} disabled={state === null} change={on => void switchFlag(spot, on).catch(() => {})} />
      </span>
      <span role="cell" class="cell-name">
        <a class="feature-name" href={environmentLink(project, environment.api_key, 'features', f.id) + query} title={f.description ?? undefined}>
          {f.name}
        </a>
        {f.is_server_key_only && (
          <span class="feature-mark" title="For server-side keys only">
            <Icon name="lock" size={14} />
          </span>
        )}
      </span>
      <span role="cell" class="cell-value">
        <ValueCell spot={spot} query={query} />
        {f.type === 'MULTIVARIATE' && <span class="chip">{f.multivariate_options.length + 1} variants</span>}
      </span>
      <span role="cell" class="cell-tags">
        {mine.map(t => (
          <span key={t.id} class="chip" title={t.description ?? undefined}>
            <span class="swatch" style={{ background: t.color }} />
            {t.label}
          </span>
        ))}
      </span>
      <span role="cell" class="cell-overrides">
        {!!f.num_segment_overrides && (
          <span class="override-count" title={`${f.num_segment_overrides} segment overrides`}>
            <Icon name="segment" size={15} /> {f.num_segment_overrides}
            <span class="visually-hidden"> segment overrides</span>
          </span>
        )}
        {!!f.num_identity_overrides && (
          <span class="override-count" title={`${f.num_identity_overrides} identity overrides`}>
            <Icon name="identity" size={15} /> {f.num_identity_overrides}
            <span class="visually-hidden"> identity overrides</span>
          </span>
        )}
      </span>
      <span role="cell" class="cell-changed" title={moment(changed)}>
        {ago(changed)}
      </span>
    </div>
  )
}
