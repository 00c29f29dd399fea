import type { ComponentChildren } from 'preact'
import { useId, useLayoutEffect, useRef } from 'preact/hooks'
import { Icon } from './Icon'

interface Props {
  title: string
  close: () => void
  children: ComponentChildren
  class?: string
}

/** Dialog is the browser's own modal: it keeps the focus inside, gives it back, and closes with Escape. */
export function Dialog({ title, close, children, class: name = '' }: Props) {
  const ref = useRef<HTMLDialogElement>(null)
  const id = useId()
  useLayoutEffect(() => {
    const back = document.activeElement as HTMLElement | null
    ref.current?.showModal()
    return () => back?.focus?.()
  }, [])
  return (
    <dialog
      ref={ref}
      class={`dialog ${name}`}
      aria-labelledby={id}
      onCancel={e => {
        e.preventDefault()
        close()
      }}
      onPointerDown={e => e.target === ref.current && close()}
    >
      <div class="dialog-box">
        <header class="dialog-head">
          <h2 id={id}>{title}</h2>
          <button type="button" class="button ghost square" aria-label="Close" onClick={close}>
            <Icon name="close" />
          </button>
        </header>
        {children}
      </div>
    </dialog>
  )
}
