interface Props {
  on: boolean
  label: string
  change: (on: boolean) => void
  disabled?: boolean
}

/** Switch turns something on or off at once. */
export function Switch({ on, label, change, disabled }: Props) {
  return (
    <button type="button" role="switch" class="switch" aria-checked={on} aria-label={label} disabled={disabled} onClick={() => change(!on)}>
      <span class="switch-knob" />
    </button>
  )
}
