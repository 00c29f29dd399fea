import { useEffect, useRef, useState } from 'preact/hooks'

/**
 * useTyped is the text of a search that the address holds, too: it goes there once the typing pauses for so many milliseconds, and follows the
 * address when that changes otherwise, as by a link or the back button.
 */
export function useTyped(text: string, go: (text: string) => void, pause: number) {
  const [typed, setTyped] = useState(text)
  const sent = useRef(text)
  const latest = useRef(go) // the rest of the address may change before the pause ends
  latest.current = go
  useEffect(() => {
    if (text !== sent.current) setTyped((sent.current = text))
  }, [text])
  useEffect(() => {
    if (typed === sent.current) return
    const timer = setTimeout(() => latest.current((sent.current = typed)), pause)
    return () => clearTimeout(timer)
  }, [typed])
  return [typed, setTyped] as const
}
