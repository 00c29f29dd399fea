import { useEffect, useState } from 'preact/hooks'
import { messageOf } from './error'
import { writeJSON } from './json'
import { request } from './request'

/** Asked is what is known of a question: the newest answer stays while the next one is under way. */
export interface Asked<T> {
  data: T | undefined
  error: string | undefined
  loading: boolean
}

/**
 * useAsk is useQuery for what is read with POST because the question is long: it asks whenever the body changes, once that pauses for so many
 * milliseconds, and when turn changes. Without a path it asks nothing.
 */
export function useAsk<T>(path: string | null, body: unknown, pause = 0, turn = 0): Asked<T> {
  const [asked, setAsked] = useState<Asked<T>>({ data: undefined, error: undefined, loading: true })
  useEffect(() => {
    if (path === null) return
    const asking = new AbortController()
    setAsked(a => ({ ...a, loading: true }))
    const timer = setTimeout(() => {
      request<T>('POST', path, { body, signal: asking.signal })
        .then(a => setAsked({ data: a.data, error: undefined, loading: false }))
        .catch((e: unknown) => asking.signal.aborted || setAsked({ data: undefined, error: messageOf(e), loading: false }))
    }, pause)
    return () => {
      clearTimeout(timer)
      asking.abort()
    }
  }, [path, writeJSON(body), turn])
  return asked
}
