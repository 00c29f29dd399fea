import type { Quantifier } from '../../api/trace'
import type { Segment } from '../../api/types'
import { operatorOf, phrase } from './operators'

export interface Condition {
  id?: number
  operator: string
  property: string | null
  value: string | null
  description?: string | null
}

/** Rule asks something of its conditions and of its rules; both must hold. Those of the upper level have rules, those in them have none. */
export interface Rule {
  id?: number
  type: Quantifier
  conditions: Condition[]
  rules?: Rule[]
}

/** RuledSegment is a segment with all of its members. */
export interface RuledSegment extends Segment {
  rules: Rule[]
}

export const segmentsPath = (project: number) => `/api/v1/projects/${project}/segments/`
export const segmentModels = ['Segment'] as const

export const newCondition = (): Condition => ({ operator: 'EQUAL', property: '', value: '' })

/** newRule is what a condition stands in: rules of the upper level hold rules, which other front ends expect. */
export const newRule = (type: Quantifier = 'ANY', conditions = 1): Rule => ({ type, conditions: Array.from({ length: conditions }, newCondition) })

export const newRules = (): Rule[] => [{ type: 'ALL', conditions: [], rules: [newRule()] }]

/** complete tells whether every condition is about something: before, there is nothing to try. */
export const complete = (rules: Rule[]): boolean =>
  rules.every(r => r.conditions.every(c => !!c.property || operatorOf(c.operator).shape === 'percentage') && complete(r.rules ?? []))

/** sent is rules as the API takes them. */
export const sent = (rules: Rule[]): Rule[] =>
  rules.map(r => ({ ...r, rules: sent(r.rules ?? []), conditions: r.conditions.map(c => ({ ...c, property: c.property === '' && operatorOf(c.operator).shape === 'percentage' ? null : c.property, value: c.value ?? '' })) }))

export const replaced = <T>(list: T[], at: number, by: T): T[] => list.map((x, i) => (i === at ? by : x))
export const without = <T>(list: T[], at: number): T[] => list.filter((_, i) => i !== at)

/** sentence is what rules come to, in words. */
export function sentence(rules: Rule[]): string {
  if (rules.length === 0) return 'Nobody: there is no rule.'
  return `Users where ${rules.map(upper).join('; and also ')}.`
}

const heads: Record<Quantifier, string> = { ALL: 'all of: ', ANY: 'any of: ', NONE: 'none of: ' }
const joints: Record<Quantifier, string> = { ALL: '; and ', ANY: '; or ', NONE: '; or ' }

function upper(r: Rule): string {
  const conditions = r.conditions.map(phrase)
  const rules = (r.rules ?? []).map(lower)
  // Either part must hold: "any of" stands before each.
  if (r.type === 'ANY' && conditions.length > 0 && rules.length > 0) return `${listed('ANY', conditions)}; and ${listed('ANY', rules)}`
  return listed(r.type, [...conditions, ...rules])
}

function listed(type: Quantifier, parts: string[]): string {
  if (parts.length === 0) return 'nothing is asked'
  if (parts.length === 1 && type !== 'NONE') return parts[0]!
  return heads[type] + parts.join(joints[type])
}

function lower(r: Rule): string {
  const parts = r.conditions.map(phrase)
  if (parts.length === 0) return 'nothing is asked'
  if (r.type === 'NONE') return parts.length === 1 ? `not (${parts[0]})` : `neither (${parts.join(' nor ')})`
  return parts.length === 1 ? parts[0]! : `(${parts.join(r.type === 'ALL' ? ' and ' : ' or ')})`
}
