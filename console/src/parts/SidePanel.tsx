import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'
import { Icon } from './Icon'

interface Props {
  title: string
  close: () => void
  children: ComponentChildren
}

/** SidePanel stands beside a list, which stays usable; on small screens it covers it. Escape closes it. */
export function SidePanel({ title, close, children }: Props) {
  const ref = useRef<HTMLElement>(null)
  const id = useId()
  useEffect(() => {
    ref.current?.querySelector<HTMLElement>('h2')?.focus()
  }, [title])
  return (
    <aside
      ref={ref}
      class="side-panel"
      tabIndex={-1}
      aria-labelledby={id}
      onKeyDown={e => {
        if (e.key !== 'Escape' || e.isComposing || e.defaultPrevented || (e.target as HTMLElement).closest('dialog')) return
        close()
      }}
    >
      <header class="dialog-head">
        <h2 id={id} tabIndex={-1}>
          {title}
        </h2>
        <button type="button" class="button ghost square" aria-label="Close" onClick={close}>
          <Icon name="close" />
        </button>
      </header>
      {children}
    </aside>
  )
}
