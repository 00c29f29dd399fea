import { useLocation } from 'preact-iso'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import type { FeatureTrace, SegmentTrace } from '../../api/trace'
import type { Feature } from '../../api/types'
import { environmentLink } from '../../links'
import { Icon } from '../../parts/Icon'
import { shown } from '../features/flag'
import { linkOf, reason, whole, type Override, type Person } from './identity'
import { OverrideDialog } from './OverrideDialog'
import { Why } from './Why'

interface Props {
  person: Person
  feature: Feature | undefined
  trace: FeatureTrace
  segments: SegmentTrace[]
  /** Client-side keys do not get it. */
  hidden: boolean
  override: Override | undefined
  /** Whether it is known what overrides there are. */
  ready: boolean
  /** The address names it. */
  opened: boolean
}

/** FlagRow is one flag as the identity gets it; it opens to show why. */
export function FlagRow({ person, feature, trace: t, segments, hidden, override, ready, opened }: Props) {
  const id = useId()
  const { route } = useLocation()
  const [open, setOpen] = useState(opened)
  const row = useRef<HTMLLIElement>(null)
  useEffect(() => {
    if (opened) row.current?.scrollIntoView({ block: 'nearest' })
  }, [])
  const toggle = () => {
    setOpen(!open)
    if (!open || opened) route(linkOf(person, person.identity.id, open ? undefined : t.name), true)
  }
  const [editing, setEditing] = useState<{ override: Override | undefined } | null>(null)
  const edit = async () => setEditing({ override: override && (await whole(override, `Override of ${t.name}`)) })
  return (
    <li class="identity-flag" ref={row}>
      <div class="identity-flag-line">
        <span class={`state ${t.enabled ? 'on' : 'off'}`}>{t.enabled ? 'On' : 'Off'}</span>
        <span class="identity-flag-name">
          {feature ? (
            <a class="identity-flag-link" href={environmentLink(person.project, person.environment.api_key, 'features', feature.id)}>
              {t.name}
            </a>
          ) : (
            <strong>{t.name}</strong>
          )}{' '}
          <span class="mono identity-flag-value">{shown(t.value)}</span>
          {hidden && <span class="chip">not for client keys</span>}
        </span>
        <button type="button" class={`button small why-button ${override ? 'own' : ''}`} aria-expanded={open} aria-controls={open ? id : undefined} aria-label={`Why: ${t.name} – ${reason(t)}`} onClick={toggle}>
          <span class="why-text">{reason(t)}</span>
          <Icon name="chevron" size={16} />
        </button>
        <button type="button" class="button ghost square small" disabled={!ready} aria-label={`${override ? 'Edit the override of' : 'Override'} ${t.name}`} title={override ? 'Edit the override' : 'Override'} onClick={() => void edit().catch(() => {})}>
          <Icon name={override ? 'edit' : 'plus'} size={16} />
        </button>
      </div>
      {open && (
        <div id={id} class="why" role="region" aria-label={`Why ${t.name}`}>
          <Why project={person.project} trace={t} segments={segments} />
        </div>
      )}
      {editing && feature && <OverrideDialog person={person} feature={feature} trace={t} override={editing.override} close={() => setEditing(null)} />}
    </li>
  )
}
