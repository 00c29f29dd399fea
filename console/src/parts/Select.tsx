import { useId } from 'preact/hooks'

interface Props {
  label: string
  value: string
  change: (value: string) => void
  options: { value: string; label: string }[]
  hideLabel?: boolean
}

/** Select chooses one of a few values. */
export function Select({ label, value, change, options, hideLabel = false }: Props) {
  const id = useId()
  return (
    <div class="field">
      <label for={id} class={hideLabel ? 'visually-hidden' : ''}>
        {label}
      </label>
      <select id={id} class="select" value={value} onChange={e => change(e.currentTarget.value)}>
        {options.map(o => (
          <option key={o.value} value={o.value}>
            {o.label}
          </option>
        ))}
      </select>
    </div>
  )
}
