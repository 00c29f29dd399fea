import { readJSON } from '../../api/json'
import type { Scalar } from '../../api/types'

export interface Trait {
  trait_key: string
  trait_value: Scalar
}

/** readTraits reads pasted traits: an object, or a list as the API has it. */
export function readTraits(text: string): { list?: Trait[]; error?: string } {
  if (text.trim() === '') return { list: [] }
  let value: unknown
  try {
    value = readJSON(text)
  } catch (e) {
    return { error: `This is no JSON: ${(e as Error).message}` }
  }
  if (value === null || typeof value !== 'object') return { error: 'Traits are an object: {"plan": "pro"}.' }
  const list = Array.isArray(value) ? (value as Trait[]) : Object.entries(value).map(([trait_key, trait_value]) => ({ trait_key, trait_value: trait_value as Scalar }))
  const odd = list.find(t => typeof t?.trait_key !== 'string' || (t.trait_value !== null && typeof t.trait_value === 'object'))
  return odd ? { error: `The trait ${odd.trait_key ?? '?'} is neither text, number, yes nor no.` } : { list }
}
