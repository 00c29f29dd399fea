import { useLayoutEffect, useState } from 'preact/hooks'
import type { RefObject } from 'preact'

const spare = 8 // rows made beyond what is seen

/** useWindow tells which rows of a long list of equally high ones are in sight of the element that scrolls. */
export function useWindow(scroller: RefObject<HTMLElement | null>, count: number, height: number) {
  const [range, setRange] = useState({ from: 0, to: 40 })
  useLayoutEffect(() => {
    const el = scroller.current
    if (!el) return
    const look = () => {
      const from = Math.max(0, Math.floor(el.scrollTop / height) - spare)
      const to = Math.ceil((el.scrollTop + el.clientHeight) / height) + spare
      setRange(r => (r.from === from && r.to === to ? r : { from, to }))
    }
    look()
    el.addEventListener('scroll', look, { passive: true })
    const resized = new ResizeObserver(look)
    resized.observe(el)
    return () => {
      el.removeEventListener('scroll', look)
      resized.disconnect()
    }
  }, [height, count > 0])
  return { from: Math.min(range.from, count), to: Math.min(range.to, count) }
}
