// The engine's operators: how people choose and read them, and what their value looks like.

export type Shape = 'text' | 'list' | 'pattern' | 'percentage' | 'modulo' | 'none'

interface Operator {
  name: string
  shape: Shape
  /** Texts that end in :semver are compared as versions. */
  version?: boolean
}

export const operators: Record<string, Operator> = {
  EQUAL: { name: 'is', shape: 'text', version: true },
  NOT_EQUAL: { name: 'is not', shape: 'text', version: true },
  IN: { name: 'is one of', shape: 'list' },
  CONTAINS: { name: 'contains', shape: 'text' },
  NOT_CONTAINS: { name: 'does not contain', shape: 'text' },
  GREATER_THAN: { name: 'is more than', shape: 'text', version: true },
  GREATER_THAN_INCLUSIVE: { name: 'is at least', shape: 'text', version: true },
  LESS_THAN: { name: 'is less than', shape: 'text', version: true },
  LESS_THAN_INCLUSIVE: { name: 'is at most', shape: 'text', version: true },
  REGEX: { name: 'matches the pattern', shape: 'pattern' },
  IS_SET: { name: 'is set', shape: 'none' },
  IS_NOT_SET: { name: 'is not set', shape: 'none' },
  PERCENTAGE_SPLIT: { name: 'falls in the first', shape: 'percentage' },
  MODULO: { name: 'divided by', shape: 'modulo' },
}

/** operatorOf is what is known of an operator, also of one that is not. */
export const operatorOf = (key: string): Operator => operators[key] ?? { name: key, shape: 'text' }

const versionMark = ':semver'

export const isVersion = (value: string) => value.endsWith(versionMark)
export const plainVersion = (value: string) => (isVersion(value) ? value.slice(0, -versionMark.length) : value)
export const asVersion = (value: string) => plainVersion(value) + versionMark

/** What a condition may be about besides traits. */
export const contextProperties: Record<string, string> = {
  '$.identity.identifier': 'the identifier',
  '$.identity.key': 'the identity',
  '$.environment.name': 'the environment’s name',
  '$.environment.key': 'the environment’s key',
}

/** phrase is a condition as people read it. */
export function phrase(c: { property: string | null; operator: string; value: string | null }): string {
  const { name, shape, version } = operatorOf(c.operator)
  const value = c.value ?? ''
  const about = contextProperties[c.property ?? ''] ?? (c.property || (shape === 'percentage' ? 'the identity' : '…'))
  switch (shape) {
    case 'none':
      return `${about} ${name}`
    case 'percentage':
      return `${about} ${name} ${value || '…'} %`
    case 'modulo': {
      const [divisor = '', rest = ''] = value.split('|')
      return `${about} ${name} ${divisor || '…'} leaves ${rest || '…'}`
    }
    case 'list':
      return `${about} ${name} ${list(value).join(', ') || '…'}`
    default:
      if (version && isVersion(value)) return `${about} ${name} version ${plainVersion(value)}`
      return `${about} ${name} ${value === '' ? '…' : value}`
  }
}

/** list reads the value of IN: texts between commas, or a JSON list. */
function list(value: string): string[] {
  if (value.trim().startsWith('[')) {
    try {
      return (JSON.parse(value) as unknown[]).map(String)
    } catch {
      // texts, then
    }
  }
  return value.split(',').filter(Boolean)
}
