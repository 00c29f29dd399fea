import { exact } from '../../api/json'
import { write } from '../../api/write'
import { environmentPath, identityModels, identityPath, type Person } from './identity'

// A trait keeps its type: the text "007" is no number, and 12.0 no whole one.

export const types = { unicode: 'Text', int: 'Whole number', float: 'Decimal number', bool: 'Yes or no' }

export type Value =
  | { value_type: 'unicode'; string_value: string }
  | { value_type: 'int'; integer_value: number | bigint }
  | { value_type: 'float'; float_value: number }
  | { value_type: 'bool'; boolean_value: boolean }

export type Trait = { id: number; trait_key: string } & Value

export const traitsPath = (p: Person) => `${environmentPath(p.environment.api_key)}/identities/${p.identity.id}/traits/`

/** literal is a value as text, with the fraction of a decimal number. */
export function literal(v: Value): string {
  if (v.value_type === 'unicode') return v.string_value
  if (v.value_type === 'bool') return String(v.boolean_value)
  if (v.value_type === 'int') return String(v.integer_value)
  return Number.isInteger(v.float_value) && Math.abs(v.float_value) < 1e16 ? `${v.float_value}.0` : String(v.float_value)
}

/** shown is literal with quotes around a text that could be taken for something else. */
export const shown = (v: Value) => (v.value_type === 'unicode' && /^\s*$|^(true|false)$|^-?[\d.]+$/.test(v.string_value) ? `"${v.string_value}"` : literal(v))

/** valueOf reads a text as a type; null when it is none. */
export function valueOf(type: Value['value_type'], text: string): Value | null {
  if (type === 'unicode') return { value_type: type, string_value: text }
  if (type === 'bool') return { value_type: type, boolean_value: text === 'true' }
  const number = text.trim() === '' ? NaN : Number(text)
  if (type === 'int') {
    const whole = /^\s*-?\d+\s*$/.test(text) ? wholeOf(text.trim()) : null
    return whole === null ? null : { value_type: type, integer_value: whole }
  }
  return Number.isFinite(number) ? { value_type: type, float_value: number } : null
}

/** wholeOf reads a whole number of 64 bits; null when it is none, or cannot be told exactly. */
function wholeOf(text: string): number | bigint | null {
  if (Number.isSafeInteger(Number(text))) return Number(text)
  return exact && BigInt.asIntN(64, BigInt(text)) === BigInt(text) ? BigInt(text) : null
}

/** inputOf is the value of a trait without the columns of other types. */
export const inputOf = (t: Trait) => valueOf(t.value_type, literal(t))!

interface Saved {
  label: string
  undo?: () => unknown
  quiet?: boolean
}

/** saveTrait adds a trait, or changes the one that is known. */
export function saveTrait(p: Person, key: string, known: Trait | undefined, value: Value, w: Saved) {
  const what = { ...w, models: identityModels }
  // The operation that keeps types has columns of 32 bits; a longer whole number is one everywhere.
  if (value.value_type === 'int' && (value.integer_value > 0x7fffffff || value.integer_value < -0x7fffffff)) {
    return write('PUT', `${identityPath(p)}update-traits/`, { trait_key: key, trait_value: value.integer_value }, what)
  }
  if (known) return write('PATCH', `${traitsPath(p)}${known.id}/`, value, what)
  return write('POST', traitsPath(p), { trait_key: key, ...value }, what)
}

export const removeTrait = (p: Person, key: string, w: Saved) =>
  write('PUT', `${identityPath(p)}update-traits/`, { trait_key: key, trait_value: null }, { ...w, models: identityModels })
