import type { Scalar } from './types'

// Why something was decided, as the engine tells it.

export type Quantifier = 'ALL' | 'ANY' | 'NONE'

export interface ConditionTrace {
  property: string
  operator: string
  value: string
  /** What the condition saw; null: nothing. */
  seen: Scalar
  /** The bucket of a percentage split. */
  percentage?: number
  matched: boolean
}

export interface RuleTrace {
  type: Quantifier
  matched: boolean
  conditions?: ConditionTrace[]
  rules?: RuleTrace[]
}

export interface SegmentTrace {
  key: string
  name: string
  matched: boolean
  rules: RuleTrace[] | null
}

export interface OverrideTrace {
  segment: string
  priority: number | null
  matched: boolean
  won: boolean
}

export interface FeatureTrace {
  name: string
  overrides?: OverrideTrace[]
  enabled: boolean
  value: Scalar
  reason: string
  /** The bucket of the variant choice. */
  percentage?: number
  variant?: string
}
