import { useEffect, useRef, useState } from 'preact/hooks'
import { dismiss, receipts, type Receipt } from '../state/receipts'
import { Icon } from './Icon'

/**
 * Receipts tell what became of changes, in a corner and to screen readers. What scrolls has as much room at its end (--toasts), so that nothing has
 * to stay under them.
 */
export function Receipts() {
  const ref = useRef<HTMLElement>(null)
  const none = receipts.value.length === 0
  useEffect(() => {
    if (none) return
    const { style } = document.documentElement
    const measure = new ResizeObserver(([entry]) => style.setProperty('--toasts', `${innerHeight - entry!.target.getBoundingClientRect().top}px`))
    measure.observe(ref.current!)
    return () => {
      measure.disconnect()
      style.removeProperty('--toasts')
    }
  }, [none])
  return (
    <section ref={ref} class="receipts" aria-label="What became of changes" aria-live="polite" aria-relevant="additions text">
      {receipts.value.map(r => (
        <Toast key={r.id} receipt={r} />
      ))}
    </section>
  )
}

const stays = { committed: 12_000, live: 6_000, failed: 12_000 }

/** Toast goes after a while, but not from under the pointer or the focus. */
function Toast({ receipt: r }: { receipt: Receipt }) {
  const [held, setHeld] = useState({ pointer: false, focus: false })
  const stay = held.pointer || held.focus
  useEffect(() => {
    if (stay) return
    const timer = setTimeout(() => dismiss(r.id), stays[r.kind])
    return () => clearTimeout(timer)
  }, [r.kind, stay])
  return (
    <div
      class={`receipt ${r.kind}`}
      data-kind={r.kind}
      onPointerEnter={() => setHeld(h => ({ ...h, pointer: true }))}
      onPointerLeave={() => setHeld(h => ({ ...h, pointer: false }))}
      onFocusIn={() => setHeld(h => ({ ...h, focus: true }))}
      onFocusOut={() => setHeld(h => ({ ...h, focus: false }))}
    >
      <span class="receipt-mark">
        <Icon name={r.kind === 'failed' ? 'alert' : 'check'} />
      </span>
      <div class="receipt-text">
        <strong>{r.label}</strong>
        <span class="receipt-detail" title="Counted by this browser, from sending the change until the cluster told that the flags compiled on all ready nodes have it.">
          {r.detail}
        </span>
      </div>
      {r.undo && (
        <button
          type="button"
          class="button small"
          onClick={() => {
            dismiss(r.id)
            Promise.resolve(r.undo?.()).catch(() => {}) // a receipt of its own says why
          }}
        >
          Undo
        </button>
      )}
      <button type="button" class="button ghost square small" aria-label="Dismiss" onClick={() => dismiss(r.id)}>
        <Icon name="close" size={16} />
      </button>
    </div>
  )
}
