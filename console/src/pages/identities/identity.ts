import { messageOf } from '../../api/error'
import { get } from '../../api/request'
import type { FeatureTrace, SegmentTrace } from '../../api/trace'
import type { Scalar } from '../../api/types'
import { write } from '../../api/write'
import { environmentLink } from '../../links'
import { failed } from '../../state/receipts'
import { featureModels, optionValue, stateModels } from '../features/flag'

// What is known of an identity. The stream of changes does not tell of identities and traits, of which there are millions: only what this
// browser writes is read again by itself.

export const identityModels = ['Identity'] as const

/** What the flags of an identity depend on. */
export const explainModels = ['Identity', 'Segment', 'Environment', 'Project', ...featureModels] as const
export const overrideModels = ['Identity', ...stateModels] as const

/** Identity has a number at one half of the API and a uuid at the other. */
export interface Identity {
  id: number
  identity_uuid: string
  identifier: string
  dashboard_alias: string | null
}

export interface Explanation {
  trace: { segments: SegmentTrace[]; features: FeatureTrace[] }
  /** Flags that client-side keys do not get. */
  hidden: string[]
}

/** Override is the identity's own state of a feature. */
export interface Override {
  featurestate_uuid: string
  feature: number
  enabled: boolean
  feature_state_value: Scalar
  multivariate_feature_state_values: Share[]
}

export interface Share {
  multivariate_feature_option: number
  percentage_allocation: number
}

/** Person is one identity in one environment. */
export interface Person {
  project: number
  environment: { id: number; api_key: string; name: string }
  identity: Identity
}

/** Owner is what of a person its addresses tell. */
export interface Owner {
  environment: Pick<Person['environment'], 'api_key'>
  identity: Pick<Identity, 'identity_uuid'>
}

export const environmentPath = (key: string) => `/api/v1/environments/${encodeURIComponent(key)}`
export const identityPath = (p: Owner) => `${environmentPath(p.environment.api_key)}/edge-identities/${p.identity.identity_uuid}/`

/** linkOf is the address of an identity, with its explanation of a flag when one is named. */
export const linkOf = (p: Pick<Person, 'project' | 'environment'>, id: number, flag?: string) =>
  environmentLink(p.project, p.environment.api_key, 'identities', id, ...(flag === undefined ? [] : [encodeURIComponent(flag)]))
export const overridesPath = (p: Owner) => `${identityPath(p)}edge-featurestates/`

export type OverrideInput = Omit<Override, 'featurestate_uuid'>

/** saveOverride makes the identity's own state of a feature, or changes the one there is. */
export function saveOverride(p: Owner, known: Override | undefined, input: OverrideInput, label: string, undo?: () => unknown, quiet = false) {
  const w = { label, models: overrideModels, environment: p.environment.api_key, undo, quiet }
  return known ? write<Override>('PUT', `${overridesPath(p)}${known.featurestate_uuid}/`, input, w) : write<Override>('POST', overridesPath(p), input, w)
}

export function removeOverride(p: Owner, o: Override, label: string, undo?: () => unknown) {
  return write('DELETE', `${overridesPath(p)}${o.featurestate_uuid}/`, undefined, { label, models: overrideModels, environment: p.environment.api_key, undo })
}

/**
 * whole is an override with the value that it holds itself. The API shows the value that the identity gets, which is a variant's where it has
 * shares; written back, that would take the place of its own.
 */
export async function whole<O extends Pick<Override, 'featurestate_uuid' | 'feature_state_value' | 'multivariate_feature_state_values'>>(o: O, label: string): Promise<O> {
  if (o.multivariate_feature_state_values.length === 0) return o
  try {
    const state = await get<{ feature_state_value: Parameters<typeof optionValue>[0] }>(`/api/v1/features/featurestates/get-by-uuid/${o.featurestate_uuid}/`)
    return { ...o, feature_state_value: optionValue(state.feature_state_value) }
  } catch (e) {
    failed(label, messageOf(e))
    throw e
  }
}

/** inputOf is what makes an override again. */
export const inputOf = ({ featurestate_uuid: _, feature, enabled, feature_state_value, multivariate_feature_state_values }: Override): OverrideInput => ({
  feature, enabled, feature_state_value, multivariate_feature_state_values,
})

/** The engine calls the identity's own overrides so. */
export const own = 'identity_overrides'

/** reason is why a flag came out as it did, in a few words. */
export function reason(t: FeatureTrace): string {
  const winner = t.overrides?.find(o => o.won)
  const by = winner ? (winner.segment === own ? 'Override for this identity' : `Segment ${winner.segment}`) : 'Default'
  return t.percentage === undefined ? by : `${by}, ${variant(t)}`
}

/** variant is what the split came to; a variant need not have a key. */
export const variant = (t: FeatureTrace) => (t.variant === 'control' ? 'no variant' : t.variant ? `variant ${t.variant}` : 'a variant')

export const percent = (n: number) => `${Math.round(n * 100) / 100} %`
