import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'

interface Props {
  label: string
  type?: 'text' | 'email' | 'password' | 'search' | 'url' | 'number' | 'date' | 'datetime-local'
  autocomplete?: string
  required?: boolean
  autofocus?: boolean
  spellcheck?: boolean
  placeholder?: string
  disabled?: boolean
  class?: string
  value: string
  change: (value: string) => void
  error?: string | undefined
  hint?: ComponentChildren
}

/** Field is an input with its label, its hint and what is wrong with it. */
export function Field({ label, value, change, error, hint, autofocus, class: name = 'input', type = 'text', ...rest }: Props) {
  const id = useId()
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        id={id}
        class={name}
        type={type as 'text'}
        autoFocus={autofocus}
        value={value}
        onInput={e => change(e.currentTarget.value)}
        aria-invalid={error ? true : undefined}
        aria-describedby={error || hint ? `${id}-note` : undefined}
        {...rest}
      />
      {(error || hint) && (
        <p id={`${id}-note`} class={error ? 'field-error' : 'field-hint'}>
          {error ?? hint}
        </p>
      )}
    </div>
  )
}
