import { useRef } from 'preact/hooks'

/** useSeveral tells whether a text needs a textarea: an input would join its lines. It does from then on, or typing would lose the focus. */
export function useSeveral(text: string, always = false): boolean {
  const several = useRef(always)
  several.current ||= /[\r\n]/.test(text)
  return several.current
}
