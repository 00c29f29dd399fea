import { signal } from '@preact/signals'
import { samples } from '../../parts/Spark'
import type { Load } from './types'

/** Point is what happened on a node between two looks at it. */
export interface Point {
  memory: number
  disk: number
  requests: number // a second
  failures: number // a second
  median: number // seconds; NaN: no requests
  slow: number // 99 of 100 requests took at most so long
}

/** The newest answer of each node, and what came before. They stay while one is on other pages. */
export const loads = signal<Map<string, Load>>(new Map())
export const series = signal<Map<string, Point[]>>(new Map())

/** take adds an answer of all nodes. */
export function take(answer: Load[]) {
  const next = new Map<string, Point[]>()
  for (const now of answer) {
    const known = series.value.get(now.id) ?? []
    const before = loads.value.get(now.id)
    next.set(now.id, now.error ? [] : [...known, ...between(before, now)].slice(-samples))
  }
  series.value = next
  loads.value = new Map(answer.map(l => [l.id, l]))
}

/** between is nothing at the first look, and after the node began anew. */
function between(before: Load | undefined, now: Load): Point[] {
  if (!before || before.error || before.started !== now.started || now.uptime_seconds <= before.uptime_seconds) return []
  const seconds = now.uptime_seconds - before.uptime_seconds
  const requests = now.requests - before.requests
  const counts = now.durations.map((d, i) => ({ seconds: d.seconds, count: d.count - (before.durations[i]?.count ?? 0) }))
  return [
    {
      memory: now.memory_bytes,
      disk: now.disk_total_bytes - now.disk_free_bytes,
      requests: requests / seconds,
      failures: (now.failures - before.failures) / seconds,
      median: quantile(0.5, requests, counts),
      slow: quantile(0.99, requests, counts),
    },
  ]
}

/** quantile is read off a histogram: within a bucket, requests are taken to be spread evenly. */
export function quantile(share: number, total: number, atMost: { seconds: number; count: number }[]): number {
  if (total <= 0) return NaN
  const rank = share * total
  let below = { seconds: 0, count: 0 }
  for (const b of atMost) {
    if (b.count >= rank) return below.seconds + ((rank - below.count) / (b.count - below.count)) * (b.seconds - below.seconds)
    below = b
  }
  return below.seconds
}
