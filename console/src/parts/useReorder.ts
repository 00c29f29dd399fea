import { useRef, useState } from 'preact/hooks'

/**
 * useReorder lets people bring a list into order: by dragging a handle with any pointer, or with the arrow keys on it. The handle takes
 * handle(i), the rows row(i). What a screen reader should say is in said.
 */
export function useReorder(count: number, nameOf: (i: number) => string, move: (from: number, to: number) => void) {
  const rows = useRef<(HTMLElement | null)[]>([])
  const [dragged, setDragged] = useState<number | null>(null)
  const [said, setSaid] = useState('')

  const to = (from: number, at: number) => {
    if (at < 0 || at >= count || at === from) return false
    move(from, at)
    setSaid(`${nameOf(from)} is now number ${at + 1} of ${count}`)
    return true
  }

  const row = (i: number) => ({
    ref: (el: HTMLElement | null) => {
      rows.current[i] = el
    },
    'data-dragged': dragged === i || undefined,
  })

  const handle = (i: number) => ({
    'aria-label': `Move ${nameOf(i)}, number ${i + 1} of ${count}`,
    onKeyDown: (e: KeyboardEvent) => {
      const step = { ArrowUp: -1, ArrowDown: 1 }[e.key]
      if (step === undefined) return
      e.preventDefault()
      if (to(i, i + step)) requestAnimationFrame(() => rows.current[i + step]?.querySelector<HTMLElement>('.drag-handle')?.focus())
    },
    onPointerDown: (e: PointerEvent) => {
      if (e.button !== 0) return
      e.preventDefault()
      const handle = e.currentTarget as HTMLElement
      handle.setPointerCapture(e.pointerId)
      let at = i
      setDragged(at)
      const follow = (e: PointerEvent) => {
        const over = rows.current.findIndex(r => {
          const box = r?.getBoundingClientRect()
          return box && e.clientY >= box.top && e.clientY < box.bottom
        })
        if (over >= 0 && to(at, over)) setDragged((at = over))
      }
      const end = () => {
        setDragged(null)
        document.removeEventListener('pointermove', follow)
      }
      document.addEventListener('pointermove', follow)
      document.addEventListener('pointerup', end, { once: true })
      document.addEventListener('pointercancel', end, { once: true })
    },
  })

  return { row, handle, said }
}
