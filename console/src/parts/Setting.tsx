import { Switch } from './Switch'

interface Props {
  title: string
  text: string
  on: boolean
  change: (on: boolean) => Promise<unknown>
  disabled?: boolean
}

/** Setting is something to be switched on or off, with what that means. A refusal is told by the receipt. */
export function Setting({ title, text, on, change, disabled = false }: Props) {
  return (
    <div class="setting-row">
      <div>
        <h3>{title}</h3>
        <p class="muted">{text}</p>
      </div>
      <Switch on={on} label={title} disabled={disabled} change={to => void change(to).catch(() => {})} />
    </div>
  )
}
