import { useSeveral } from '../../parts/useSeveral'
import { asVersion, isVersion, operatorOf, plainVersion } from './operators'
import type { Condition } from './rules'

interface Props {
  condition: Condition
  change: (value: string) => void
  invalid: boolean
}

/** ConditionValue edits what a property is compared with, in the shape that the operator wants. */
export function ConditionValue({ condition, change, invalid }: Props) {
  const { shape, version } = operatorOf(condition.operator)
  const value = condition.value ?? ''
  const common = { class: 'input', autocomplete: 'off', spellcheck: false, 'aria-invalid': invalid || undefined }
  switch (shape) {
    case 'none':
      return null
    case 'percentage':
      return (
        <span class="condition-unit">
          <input {...common} type="number" min={0} max={100} step="any" aria-label="Percentage" value={value} onInput={e => change(e.currentTarget.value)} />%
        </span>
      )
    case 'modulo': {
      const [divisor = '', rest = ''] = value.split('|')
      return (
        <span class="condition-unit">
          <input {...common} type="number" step="any" aria-label="Divisor" value={divisor} onInput={e => change(`${e.currentTarget.value}|${rest}`)} />
          leaves
          <input {...common} type="number" step="any" aria-label="Remainder" value={rest} onInput={e => change(`${divisor}|${e.currentTarget.value}`)} />
        </span>
      )
    }
    case 'list':
      return <Text {...common} aria-label="Values" placeholder="one, two, three" title="Between commas" value={value} change={change} />
    case 'pattern':
      return <Text {...common} class="input mono" aria-label="Pattern" placeholder=".*@example\.com$" title="Must match from the beginning of the text" value={value} change={change} />
    default:
      return (
        <span class="condition-unit">
          <Text {...common} aria-label="Value" value={plainVersion(value)} change={text => change(isVersion(value) ? asVersion(text) : text)} />
          {version && (
            <label class="tick condition-version" title="1.10.0 comes after 1.9.0">
              <input type="checkbox" checked={isVersion(value)} onChange={e => change(e.currentTarget.checked ? asVersion(value) : plainVersion(value))} />
              version
            </label>
          )}
        </span>
      )
  }
}

interface TextProps {
  class: string
  'aria-label': string
  'aria-invalid': true | undefined
  autocomplete: string
  spellcheck: boolean
  placeholder?: string
  title?: string
  value: string
  change: (value: string) => void
}

function Text({ change, ...rest }: TextProps) {
  return useSeveral(rest.value) ? (
    <textarea {...rest} class={rest.class.replace('input', 'textarea')} rows={3} onInput={e => change(e.currentTarget.value)} />
  ) : (
    <input {...rest} onInput={e => change(e.currentTarget.value)} />
  )
}
