import { useId, useRef } from 'preact/hooks'
import type { TypedValue } from '../../api/types'

const types = { string: 'Text', integer: 'Number', boolean: 'Yes or no', none: 'None' } as const

interface Props {
  label: string
  value: TypedValue | null
  change: (value: TypedValue | null) => void
}

/** ValueEditor edits a value together with its type. */
export function ValueEditor({ label, value, change }: Props) {
  const id = useId()
  const type = value?.type ?? 'none'
  const chosen = useRef<{ from: TypedValue | null; to: TypedValue | null } | undefined>(undefined) // a type that was chosen by mistake takes nothing away
  const choose = (type: keyof typeof types) => {
    const from = chosen.current && sameValue(value, chosen.current.to) ? chosen.current.from : value
    const to = type === (from?.type ?? 'none') ? from : convert(from, type)
    chosen.current = { from, to }
    change(to)
  }
  return (
    <div class="value-editor">
      <label for={id} class="visually-hidden">
        {label}
      </label>
      {type === 'string' && (
        <textarea id={id} class="textarea mono" rows={rows(value!.value)} spellcheck={false} value={value!.value} onInput={e => change({ type, value: e.currentTarget.value })} />
      )}
      {type === 'integer' && (
        <input id={id} class="input mono" inputMode="numeric" value={value!.value} onInput={e => change({ type, value: e.currentTarget.value.trim() })} />
      )}
      {type === 'boolean' && (
        <select id={id} class="select" value={value!.value} onChange={e => change({ type, value: e.currentTarget.value })}>
          <option value="true">true</option>
          <option value="false">false</option>
        </select>
      )}
      {type === 'none' && (
        <p id={id} class="value-none">
          No value: programs get null.
        </p>
      )}
      <select class="select type-select" aria-label={`Type of ${label}`} value={type} onChange={e => choose(e.currentTarget.value as keyof typeof types)}>
        {(Object.keys(types) as (keyof typeof types)[]).map(t => (
          <option key={t} value={t}>
            {types[t]}
          </option>
        ))}
      </select>
    </div>
  )
}

const rows = (text: string) => Math.min(12, Math.max(2, text.split('\n').length, Math.ceil(text.length / 60)))

/** convert keeps as much of a value as another type can hold. */
function convert(value: TypedValue | null, type: keyof typeof types): TypedValue | null {
  const text = value?.value ?? ''
  if (type === 'none') return null
  if (type === 'integer') return { type, value: /^-?\d+$/.test(text) ? text : '0' }
  if (type === 'boolean') return { type, value: text === 'true' ? 'true' : 'false' }
  return { type, value: text }
}

/** sameValue compares values with their types. */
export const sameValue = (a: TypedValue | null, b: TypedValue | null) => a?.type === b?.type && a?.value === b?.value
