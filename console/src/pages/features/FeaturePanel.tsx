import { useLocation } from 'preact-iso'
import type { ComponentChildren } from 'preact'
import { useId, useRef } from 'preact/hooks'
import { useQuery } from '../../api/query'
import type { Feature, Flag, Tag } from '../../api/types'
import { environmentLink } from '../../links'
import { CopyButton } from '../../parts/CopyButton'
import { Empty } from '../../parts/Empty'
import { SidePanel } from '../../parts/SidePanel'
import { Switch } from '../../parts/Switch'
import { Tabs } from '../../parts/Tabs'
import { CompareTab } from './CompareTab'
import { HistoryTab } from './HistoryTab'
import { OverridesTab } from './OverridesTab'
import { SettingsTab } from './SettingsTab'
import { ValueTab } from './ValueTab'
import { flagPath, stateModels, switchFlag, type Spot } from './flag'

interface Props {
  spot: Spot
  tags: Tag[]
  tab: string
  /** The query of the list's address, which stays as it is. */
  query: string
}

/** FeaturePanel is everything about one feature in one environment, beside the list. Its tab is part of the address. */
export function FeaturePanel({ spot, tags, tab, query }: Props) {
  const { route } = useLocation()
  const id = useId()
  const { feature, environment, project } = spot
  const { data: flag, error } = useQuery<Flag>(flagPath(environment.api_key, feature.id), stateModels)
  const list = environmentLink(project, environment.api_key, 'features')
  const close = () => route(list + query)
  const tabs = [
    { key: 'value', title: 'Value' },
    { key: 'overrides', title: 'Overrides', count: overrideCount(feature) },
    { key: 'compare', title: 'Compare' },
    { key: 'history', title: 'History' },
    { key: 'settings', title: 'Settings' },
  ]
  const chosen = tabs.some(t => t.key === tab) ? tab : 'value'
  return (
    <SidePanel title={feature.name} close={close}>
      <div class="panel-head">
        <Switch
          on={feature.environment_feature_state?.enabled ?? false}
          label={`${feature.name} in ${environment.name}`}
          change={on => void switchFlag(spot, on).catch(() => {})}
        />
        <span>
          {feature.environment_feature_state?.enabled ? 'On' : 'Off'} in <strong>{environment.name}</strong>
        </span>
        <CopyButton text={feature.name} label="Copy the name" />
      </div>
      {feature.description && <p class="muted">{feature.description}</p>}
      <Tabs label="About this feature" tabs={tabs} chosen={chosen} panel={id} choose={key => route(`${list}/${feature.id}/${key}${query}`, true)} />
      <div id={id} role="tabpanel" aria-label={tabs.find(t => t.key === chosen)?.title} class="panel-body" aria-busy={!flag && !error}>
        {!flag && error && chosen !== 'compare' && chosen !== 'settings' && <Empty icon="alert" title={error} />}
        {flag && <Kept shown={chosen === 'value'}><ValueTab spot={spot} flag={flag} /></Kept>}
        {flag && <Kept shown={chosen === 'overrides'}><OverridesTab spot={spot} flag={flag} /></Kept>}
        {chosen === 'compare' && <CompareTab spot={spot} />}
        {flag && chosen === 'history' && <HistoryTab spot={spot} flag={flag} />}
        <Kept shown={chosen === 'settings'}><SettingsTab spot={spot} tags={tags} gone={close} /></Kept>
      </div>
    </SidePanel>
  )
}

/** Kept is made when it is first shown and then stays, hidden, with what was typed into it: a look at another tab costs nothing. */
function Kept({ shown, children }: { shown: boolean; children: ComponentChildren }) {
  const made = useRef(false)
  made.current ||= shown
  return made.current ? <div class="panel-tab" hidden={!shown}>{children}</div> : null
}

const overrideCount = (f: Feature) => (f.num_segment_overrides ?? 0) + (f.num_identity_overrides ?? 0)
