import type { Flag, FlagOverride, FlagState, MultivariateOption, Scalar, TypedValue } from '../../api/types'
import { changed, patchQuery } from '../../api/query'
import { get } from '../../api/request'
import { write } from '../../api/write'
import type { Feature } from '../../api/types'
import { failed } from '../../state/receipts'

// What a feature does in an environment, read and written at one address, whether the environment keeps versions or not.

export const flagPath = (environment: string, feature: number) => `/api/__future__/environments/${encodeURIComponent(environment)}/features/${feature}/`

/** The tables that the state of a feature lies in, as the change log names them. */
export const stateModels = ['FeatureState', 'FeatureSegment', 'EnvironmentFeatureVersion', 'FeatureVersionState'] as const
export const featureModels = ['Feature', 'MultivariateFeatureOption', ...stateModels] as const

export const featuresPath = (project: number, environment: number) => `/api/v1/projects/${project}/features/?environment=${environment}`

/** Spot is one feature in one environment. */
export interface Spot {
  project: number
  environment: { id: number; api_key: string; name: string }
  feature: Feature
}

/** switchFlag turns a feature on or off; the list shows it at once. */
export function switchFlag(spot: Spot, enabled: boolean): Promise<unknown> {
  return assuming(spot, { enabled }, save(spot, { enabled }, `${spot.feature.name} switched ${enabled ? 'on' : 'off'}`, () => switchFlag(withState(spot, { enabled }), !enabled)))
}

/** setValue gives a feature another value. */
export function setValue(spot: Spot, value: Scalar): Promise<unknown> {
  const before = spot.feature.environment_feature_state?.feature_state_value ?? null
  return assuming(
    spot,
    { feature_state_value: value },
    save(spot, { value: typed(value) }, `${spot.feature.name} set to ${shown(value)}`, () => setValue(withState(spot, { feature_state_value: value }), before)),
  )
}

/** withState is a spot after a change: what an undo that is refused goes back to. */
function withState(spot: Spot, change: Partial<State>): Spot {
  const state = spot.feature.environment_feature_state
  return { ...spot, feature: { ...spot.feature, environment_feature_state: state && { ...state, ...change } } }
}

/** save changes the default of a feature in an environment. */
export function save({ environment, feature }: Spot, state: Partial<FlagState>, label: string, undo?: () => unknown) {
  return write('PATCH', flagPath(environment.api_key, feature.id), { environment_default: state }, {
    label,
    models: stateModels,
    environment: environment.api_key,
    undo,
  })
}

/** saveOverrides replaces all segment overrides of a feature; their order is their priority. */
export function saveOverrides(spot: Spot, overrides: Omit<FlagOverride, 'priority'>[], label: string, undo?: () => unknown) {
  return replace(spot, { segment_overrides: ordered(overrides) }, label, undo)
}

/**
 * changeOverrides is saveOverrides for who saw certain ones: where others saved since, of which no event told yet, theirs are shown instead, and
 * nothing is written. Its undo looks in the same way.
 */
export async function changeOverrides(spot: Spot, seen: FlagOverride[], overrides: Omit<FlagOverride, 'priority'>[], label: string, labelOfUndo?: string): Promise<void> {
  const now = await get<Flag>(flagPath(spot.environment.api_key, spot.feature.id))
  if (JSON.stringify(now.segment_overrides) !== JSON.stringify(seen)) {
    changed(stateModels)
    const why = 'Somebody else saved overrides meanwhile. They are shown now: save again if that is right.'
    failed(label, why)
    throw new Error(why)
  }
  let made = seen
  made = (await saveOverrides(spot, overrides, label, labelOfUndo ? () => changeOverrides(spot, made, seen, labelOfUndo) : undefined)).segment_overrides
}

/** saveAll replaces the default, too, in one write. */
export function saveAll(spot: Spot, state: FlagState, overrides: Omit<FlagOverride, 'priority'>[], label: string) {
  return replace(spot, { environment_default: state, segment_overrides: ordered(overrides) }, label)
}

const ordered = (overrides: Omit<FlagOverride, 'priority'>[]) =>
  overrides.map((o, priority) => ({ segment: { id: o.segment.id }, priority, enabled: o.enabled, value: o.value, variants: o.variants }))

function replace({ environment, feature }: Spot, body: object, label: string, undo?: () => unknown) {
  return write<Flag>('PUT', flagPath(environment.api_key, feature.id), body, { label, models: stateModels, environment: environment.api_key, undo })
}

type State = NonNullable<Feature['environment_feature_state']>

/** assuming shows a change while it is saved, and takes it back when it is refused: nobody may answer what is stored then. */
async function assuming(spot: Spot, change: Partial<State>, saving: Promise<unknown>) {
  const state = spot.feature.environment_feature_state
  assume(spot, change)
  try {
    return await saving
  } catch (e) {
    if (state) assume(spot, Object.fromEntries(Object.keys(change).map(k => [k, state[k as keyof State]])))
    throw e
  }
}

function assume({ project, environment, feature }: Spot, change: Partial<State>) {
  patchQuery<Feature[]>(featuresPath(project, environment.id), all =>
    all.map(f => (f.id === feature.id && f.environment_feature_state ? { ...f, environment_feature_state: { ...f.environment_feature_state, ...change } } : f)),
  )
}

/** typed tells the type of a value, as the API wants it. */
export function typed(value: Scalar): TypedValue | null {
  if (value === null) return null
  if (typeof value === 'boolean') return { type: 'boolean', value: String(value) }
  if (typeof value === 'number') return { type: 'integer', value: String(value) }
  return { type: 'string', value }
}

/** untyped is the opposite. */
export function untyped(value: TypedValue | null): Scalar {
  if (value === null) return null
  if (value.type === 'boolean') return value.value === 'true'
  if (value.type === 'integer') return Number(value.value)
  return value.value
}

/** shown is a value as people read it. */
export const shown = (value: Scalar) => (value === null ? 'no value' : value === '' ? 'an empty text' : String(value))

/** parse reads what was typed as the type that was there before, where it can be. */
export function parse(text: string, before: Scalar): Scalar {
  if (typeof before === 'number' && /^-?\d{1,10}$/.test(text.trim())) return Number(text)
  if (typeof before === 'boolean' && /^(true|false)$/i.test(text.trim())) return text.trim().toLowerCase() === 'true'
  return text === '' && before === null ? null : text
}

/** optionValue is the value of a variant. */
export const optionValue = (o: Pick<MultivariateOption, 'type' | 'string_value' | 'integer_value' | 'boolean_value'>): Scalar => (o.type === 'int' ? o.integer_value : o.type === 'bool' ? o.boolean_value : o.string_value)
