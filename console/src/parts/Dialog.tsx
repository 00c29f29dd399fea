import type { ComponentChildren } from 'preact'
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { Icon } from './Icon'

interface Props {
  title: string
  close: () => void
  children: ComponentChildren
  class?: string
}

/**
 * Dialog is the browser's own modal: it keeps the focus inside and gives it back. Escape and a click outside close it, but not before they have
 * said so where something was changed in it.
 */
export function Dialog({ title, close, children, class: name = '' }: Props) {
  const ref = useRef<HTMLDialogElement>(null)
  const id = useId()
  const changed = useRef(false)
  const closed = useRef(false)
  const [warned, setWarned] = useState(false)
  const touched = () => {
    changed.current = true
    setWarned(false)
  }
  useLayoutEffect(() => {
    const dialog = ref.current!
    dialog.showModal()
    return () => {
      closed.current = true
      dialog.close() // gives the focus back, which nothing outside can have before
    }
  }, [])
  return (
    <dialog
      ref={ref}
      class={`dialog ${name}`}
      aria-labelledby={id}
      onCancel={e => {
        e.preventDefault()
        if (changed.current && !warned) setWarned(true)
        else close()
      }}
      onClose={() => closed.current || close()} // browsers let nobody refuse Escape twice in a row
      onInput={touched}
      onClick={e => (e.target as HTMLElement).closest('[role=switch]') && touched()}
      onPointerDown={e => e.target === ref.current && (changed.current ? setWarned(true) : close())}
    >
      <div class="dialog-box">
        <header class="dialog-head">
          <h2 id={id}>{title}</h2>
          <button type="button" class="button ghost square" aria-label="Close" onClick={close}>
            <Icon name="close" />
          </button>
        </header>
        {children}
        <p class="dialog-warning" role="alert">
          {warned && 'What you changed here is not saved. Press Escape, or the cross above, to drop it.'}
        </p>
      </div>
    </dialog>
  )
}
