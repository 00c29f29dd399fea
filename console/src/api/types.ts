// The API's objects, as far as the console reads them.

/** Page is a page of a list. */
export interface Page<T> {
  count: number
  next: string | null
  results: T[]
}

export interface User {
  id: number
  email: string
  first_name: string
  last_name: string
  is_superuser: boolean
}

export interface Organisation {
  id: number
  name: string
  role: 'ADMIN' | 'USER'
}

export interface Project {
  id: number
  name: string
  organisation: number
  only_allow_lower_case_feature_names: boolean
  feature_name_regex: string | null
}

export interface Environment {
  id: number
  name: string
  api_key: string
  project: number
  description: string | null
  banner_text: string | null
  banner_colour: string | null
  use_v2_feature_versioning: boolean
}

export interface Tag {
  id: number
  label: string
  color: string
  description: string | null
}

export type Scalar = string | number | boolean | null

export interface MultivariateOption {
  id: number
  type: 'unicode' | 'int' | 'bool'
  string_value: string | null
  integer_value: number | null
  boolean_value: boolean | null
  default_percentage_allocation: number
  key: string | null
}

export interface Feature {
  id: number
  name: string
  type: 'STANDARD' | 'MULTIVARIATE'
  description: string | null
  created_date: string
  default_enabled: boolean
  initial_value: string | null
  tags: number[]
  multivariate_options: MultivariateOption[]
  is_archived: boolean
  is_server_key_only: boolean
  owners: { id: number; email: string; first_name: string; last_name: string }[]
  environment_feature_state: { id: number; enabled: boolean; feature_state_value: Scalar } | null
  num_segment_overrides: number | null
  num_identity_overrides: number | null
  last_modified_in_current_environment: string | null
}

export interface Segment {
  id: number
  name: string
  description: string | null
  feature: number | null
}

/** TypedValue is a feature's value where its type is told. */
export interface TypedValue {
  type: 'string' | 'integer' | 'boolean'
  value: string
}

export interface FlagState {
  enabled: boolean
  value: TypedValue | null
  variants: { id: number; weight: number }[]
}

export interface FlagOverride extends FlagState {
  segment: { id: number }
  priority: number
}

/** Flag is what a feature does in one environment. */
export interface Flag {
  environment_default: FlagState
  segment_overrides: FlagOverride[]
}
