import { useState } from 'preact/hooks'
import { useQuery } from '../../api/query'
import type { Scalar } from '../../api/types'
import { write } from '../../api/write'
import { environmentLink } from '../../links'
import { Field } from '../../parts/Field'
import { Icon } from '../../parts/Icon'
import { RemoveButton } from '../../parts/RemoveButton'
import { Switch } from '../../parts/Switch'
import { useForm } from '../../parts/useForm'
import { whole, type Share } from '../identities/identity'
import { shown, stateModels, type Spot } from './flag'

interface Override {
  identifier: string
  identity_uuid: string
  feature_state: { featurestate_uuid: string; enabled: boolean; feature_state_value: Scalar; multivariate_feature_state_values: Share[] }
}

/** IdentityOverrides are for single identities, and come before every segment. */
export function IdentityOverrides({ spot }: { spot: Spot }) {
  const { feature, environment } = spot
  const base = `/api/v1/environments/${encodeURIComponent(environment.api_key)}`
  const overrides = useQuery<{ results: Override[] }>(`${base}/edge-identity-overrides?feature=${feature.id}`, stateModels)
  const put = (identifier: string, enabled: boolean, value: Scalar, label: string, undo?: () => unknown, more?: object) =>
    write('PUT', `${base}/edge-identities-featurestates`, { identifier, feature: feature.id, enabled, feature_state_value: value, ...more }, {
      label,
      models: stateModels,
      environment: environment.api_key,
      undo,
    })
  const remove = async (o: Override) => {
    const { enabled, feature_state_value, multivariate_feature_state_values } = await whole(o.feature_state, `Override for ${o.identifier}`)
    await write('DELETE', `${base}/edge-identities-featurestates`, { identifier: o.identifier, feature: feature.id }, {
      label: `Override for ${o.identifier} removed`,
      models: stateModels,
      environment: environment.api_key,
      undo: () => put(o.identifier, enabled, feature_state_value, `Override for ${o.identifier} is back`, undefined, { multivariate_feature_state_values }),
    })
  }
  const flip = async (o: Override, to: boolean) => {
    const value = (await whole(o.feature_state, `Override for ${o.identifier}`)).feature_state_value
    const set = (on: boolean): Promise<unknown> => put(o.identifier, on, value, `${feature.name} switched ${on ? 'on' : 'off'} for ${o.identifier}`, () => set(!on))
    await set(to)
  }
  return (
    <section class="block" aria-labelledby="identity-overrides">
      <h3 id="identity-overrides">Identities</h3>
      <p class="muted">For single identities, before every segment.</p>
      {overrides.error && <p class="field-error">{overrides.error}</p>}
      <ul class="overrides">
        {overrides.data?.results.map(o => (
          <li key={o.identifier} class="override">
            <div class="override-head">
              <Icon name="identity" size={16} />
              <a class="override-name" href={environmentLink(spot.project, environment.api_key, 'identities', o.identity_uuid)}>
                {o.identifier}
              </a>
              <span class="mono override-value">{shown(o.feature_state.feature_state_value)}</span>
              <Switch
                on={o.feature_state.enabled}
                label={`${feature.name} for ${o.identifier}`}
                change={on => void flip(o, on).catch(() => {})}
              />
              <RemoveButton label={`Remove the override for ${o.identifier}`} remove={() => remove(o)} />
            </div>
          </li>
        ))}
      </ul>
      <NewOverride spot={spot} put={put} />
    </section>
  )
}

type Put = (identifier: string, enabled: boolean, value: Scalar, label: string) => Promise<unknown>

function NewOverride({ spot: { feature }, put }: { spot: Spot; put: Put }) {
  const [identifier, setIdentifier] = useState('')
  const state = feature.environment_feature_state
  const form = useForm(async () => {
    await put(identifier, !(state?.enabled ?? false), state?.feature_state_value ?? null, `Override for ${identifier} made`)
    setIdentifier('')
  })
  return (
    <form class="inline-form" onSubmit={form.onSubmit}>
      <Field label="Identifier" autocomplete="off" required value={identifier} change={setIdentifier} error={form.fields.identifier ?? (form.message || undefined)} />
      <button class="button" disabled={form.busy}>
        Switch {state?.enabled ? 'off' : 'on'} for it
      </button>
    </form>
  )
}
