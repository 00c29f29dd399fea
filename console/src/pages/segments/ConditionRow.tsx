import { useId, useRef } from 'preact/hooks'
import { RemoveButton } from '../../parts/RemoveButton'
import { ConditionValue } from './ConditionValue'
import { asVersion, isVersion, operatorOf, operators, plainVersion } from './operators'
import type { Condition } from './rules'

interface Props {
  /** Where it stands: "2" or "2.1". */
  number: string
  condition: Condition
  change: (c: Condition) => void
  remove?: (() => void) | undefined
  /** Makes it one of several of which one is enough. */
  or?: (() => void) | undefined
  /** The id of a datalist of properties. */
  properties: string
  /** What the server said, by address: `${path}.value` and so on. */
  errors: Record<string, string>
  path: string
}

/** ConditionRow is one condition: property, operator, value. */
export function ConditionRow({ number, condition: c, change, remove, or, properties, errors, path }: Props) {
  const id = useId()
  const said = ['property', 'operator', 'value'].map(f => ({ f, text: errors[`${path}.${f}`] })).filter(x => x.text)
  const chosen = useRef<{ from: Condition; to: Condition } | undefined>(undefined) // an operator that was passed on the way, as with arrow keys, takes nothing away
  const choose = (operator: string) => {
    const last = chosen.current
    const from = last && last.to.operator === c.operator && last.to.value === c.value ? last.from : c
    const to = { ...c, operator, value: operator === from.operator ? from.value : converted(from, operator) }
    chosen.current = { from, to }
    change(to)
  }
  const shape = operatorOf(c.operator).shape
  return (
    <div class="condition" role="group" aria-label={`Condition ${number}`} aria-describedby={said.length > 0 ? id : undefined}>
      <input
        class="input"
        aria-label="Property"
        list={properties}
        placeholder={shape === 'percentage' ? 'identity' : 'trait'}
        autocomplete="off"
        spellcheck={false}
        value={c.property ?? ''}
        aria-invalid={errors[`${path}.property`] ? true : undefined}
        onInput={e => change({ ...c, property: e.currentTarget.value })}
      />
      <select class="select" aria-label="Operator" value={c.operator} onChange={e => choose(e.currentTarget.value)}>
        {!(c.operator in operators) && <option value={c.operator}>{c.operator}</option>}
        {Object.entries(operators).map(([key, o]) => (
          <option key={key} value={key}>
            {o.name}
            {o.shape === 'percentage' ? ' … %' : o.shape === 'modulo' ? ' … leaves …' : ''}
          </option>
        ))}
      </select>
      <span class="condition-value">
        <ConditionValue condition={c} change={value => change({ ...c, value })} invalid={!!errors[`${path}.value`]} />
      </span>
      <span class="condition-actions">
        {or && (
          <button type="button" class="button ghost small" onClick={or} aria-label={`Or: another condition beside ${number}`}>
            or…
          </button>
        )}
        {remove && (
          <RemoveButton label={`Remove condition ${number}`} remove={remove} />
        )}
      </span>
      {said.length > 0 && (
        <p id={id} class="field-error condition-error" role="alert">
          {said.map(x => x.text).join(' ')}
        </p>
      )}
    </div>
  )
}

/** converted keeps as much of a value as another operator can use. */
function converted(c: Condition, operator: string): string {
  const to = operatorOf(operator)
  const value = c.value ?? ''
  if (to.shape === operatorOf(c.operator).shape) return isVersion(value) && !to.version ? plainVersion(value) : to.version && isVersion(value) ? asVersion(value) : value
  const plain = plainVersion(value)
  if (to.shape === 'none') return ''
  if (to.shape === 'percentage') return /^\d+(\.\d+)?$/.test(plain) ? plain : ''
  if (to.shape === 'modulo') return /^\d+$/.test(plain) ? `${plain}|0` : '|'
  return operatorOf(c.operator).shape === 'modulo' ? '' : plain
}
