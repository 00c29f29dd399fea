import { useEffect, useRef } from 'preact/hooks'

/** useHere tells what is under way whether its form or dialog is still shown. */
export function useHere() {
  const here = useRef(true)
  useEffect(() => () => void (here.current = false), [])
  return here
}
