import { useEffect } from 'preact/hooks'
import { get } from '../../api/request'
import { take } from './series'
import { base, type Load } from './types'

const every = 2000

/** useLoads looks at all nodes while the page is shown. */
export function useLoads() {
  useEffect(() => {
    let timer = 0
    const stop = new AbortController()
    const look = async () => {
      if (document.visibilityState === 'visible') await get<Load[]>(`${base}load/`, { signal: stop.signal }).then(take, () => {})
      if (!stop.signal.aborted) timer = window.setTimeout(look, every)
    }
    void look()
    return () => {
      stop.abort()
      clearTimeout(timer)
    }
  }, [])
}
