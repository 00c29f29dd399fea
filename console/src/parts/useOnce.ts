import { useRef } from 'preact/hooks'

/**
 * useOnce is what a button does, but for presses while that is still under way: the second request would be refused, or done twice. Whatever act
 * writes tells of its refusal in a receipt. The button is not disabled, which would take the focus from it.
 */
export function useOnce<A extends unknown[]>(act: (...args: A) => unknown) {
  const busy = useRef(false)
  return async (...args: A) => {
    if (busy.current) return
    busy.current = true
    try {
      await act(...args)
    } catch {
      // told already
    } finally {
      busy.current = false
    }
  }
}
