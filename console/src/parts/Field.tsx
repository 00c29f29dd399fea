import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'
import { useSeveral } from './useSeveral'

interface Props {
  label: string
  type?: 'text' | 'email' | 'password' | 'search' | 'url' | 'number' | 'date' | 'datetime-local'
  autocomplete?: string
  required?: boolean
  autofocus?: boolean
  spellcheck?: boolean
  placeholder?: string
  disabled?: boolean
  /** Several lines can be typed. What has several already keeps them anyway, which an input would join. */
  lines?: boolean
  class?: string
  value: string
  change: (value: string) => void
  error?: string | undefined
  hint?: ComponentChildren
}

/** Field is an input with its label, its hint and what is wrong with it. */
export function Field({ label, value, change, error, hint, autofocus, class: name = 'input', type = 'text', lines = false, ...rest }: Props) {
  const id = useId()
  const several = useSeveral(type === 'text' ? value : '', lines)
  const common = {
    id,
    autoFocus: autofocus,
    value,
    max: type === 'date' ? '9999-12-31' : type === 'datetime-local' ? '9999-12-31T23:59' : undefined, // browsers take years of six digits, the API of four
    'aria-invalid': error ? true : undefined,
    'aria-describedby': error || hint ? `${id}-note` : undefined,
    ...rest,
  }
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {several ? (
        <textarea {...common} class={name.replace('input', 'textarea')} rows={Math.min(8, Math.max(2, value.split('\n').length))} onInput={e => change(e.currentTarget.value)} />
      ) : (
        <input {...common} class={name} type={type as 'text'} onInput={e => change(e.currentTarget.value)} />
      )}
      {(error || hint) && (
        <p id={`${id}-note`} class={error ? 'field-error' : 'field-hint'}>
          {error ?? hint}
        </p>
      )}
    </div>
  )
}
