import { useRef } from 'preact/hooks'

/**
 * useOnce is what a button does, but for presses while that is still under way: the second request would be refused, or done twice. Whatever act
 * writes tells of its refusal in a receipt. The button is not disabled, which would take the focus from it. Where the buttons of several things
 * share it, what tells whose press it is: they do not wait for one another.
 */
export function useOnce<A extends unknown[]>(act: (...args: A) => unknown, what: (...args: A) => unknown = () => undefined) {
  const busy = useRef(new Set<unknown>()).current
  return async (...args: A) => {
    const one = what(...args)
    if (busy.has(one)) return
    busy.add(one)
    try {
      await act(...args)
    } catch {
      // told already
    } finally {
      busy.delete(one)
    }
  }
}
