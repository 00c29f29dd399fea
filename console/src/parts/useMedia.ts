import { useEffect, useState } from 'preact/hooks'

/** useMedia follows a media query. */
export function useMedia(query: string): boolean {
  const [matches, setMatches] = useState(() => matchMedia(query).matches)
  useEffect(() => {
    const m = matchMedia(query)
    const changed = () => setMatches(m.matches)
    m.addEventListener('change', changed)
    return () => m.removeEventListener('change', changed)
  }, [query])
  return matches
}
