import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'
import '../styles/sheet.css'

interface Props {
  title: string
  text?: ComponentChildren
  /** Buttons beside the title. */
  actions?: ComponentChildren
  children?: ComponentChildren
}

/** Sheet is a part of a page, with a heading. */
export function Sheet({ title, text, actions, children }: Props) {
  const id = useId()
  return (
    <section class="sheet" aria-labelledby={id}>
      <header class="sheet-head">
        <div>
          <h2 id={id}>{title}</h2>
          {text && <p class="muted">{text}</p>}
        </div>
        {actions && <div class="sheet-actions">{actions}</div>}
      </header>
      {children}
    </section>
  )
}
