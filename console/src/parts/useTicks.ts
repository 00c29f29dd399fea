import { useRef, useState } from 'preact/hooks'

/**
 * useTicks is for what is saved whole at each tick, however quickly they come: one is saved after the other, and value is what was asked for last
 * until all are answered. What is stored is shown then, so save has it known when it was accepted: what is read between two ticks has not the second.
 */
export function useTicks<T>(stored: T) {
  const [, show] = useState({})
  const state = useRef({ wanted: stored, underWay: 0, saving: Promise.resolve() as Promise<unknown> }).current
  const change = (wanted: T, save: () => Promise<unknown>) => {
    state.wanted = wanted
    state.underWay++
    show({})
    const saved = state.saving.then(save)
    state.saving = saved
      .catch(() => {})
      .finally(() => {
        state.underWay--
        show({})
      })
    return saved
  }
  return {
    /** Also between two ticks that come before the page is made anew. */
    get value() {
      return state.underWay > 0 ? state.wanted : stored
    },
    busy: state.underWay > 0,
    change,
  }
}
