import { signal, type ReadonlySignal, type Signal } from '@preact/signals'
import { useEffect, useMemo } from 'preact/hooks'
import { APIError, messageOf } from './error'
import { get } from './request'
import type { Page } from './types'

/** Query is what is known of one address: the newest answer stays while a newer one is under way. */
export interface Query<T> {
  data: T | undefined
  error: string | undefined
  loading: boolean
}

interface Entry {
  path: string
  models: readonly string[]
  read: (path: string) => Promise<unknown>
  state: Signal<Query<unknown>>
  users: number
  asked: number // counts fetches, so that an old answer does not replace a newer one
  stale: boolean
}

const entries = new Map<string, Entry>()
// What programs write as they go is in no change log: it is read again whenever somebody comes back to it.
const untold = new Set(['Identity', 'Usage'])
const kept = 60 // addresses that nobody shows, to be there at once when somebody comes back

const nothing: ReadonlySignal<Query<unknown>> = signal({ data: undefined, error: undefined, loading: false })

/**
 * useQuery reads an address and follows it. models are the names of the tables it shows, as the change log has them ("Feature", "Tag"): when
 * one of them changes, by us or by anybody, it is read again; '*' is any table. null reads nothing.
 */
export function useQuery<T>(path: string | null, models: readonly string[]): Query<T> {
  return useEntry<T>(path, models, get)
}

/** useList is useQuery for all pages of a list. */
export function useList<T>(path: string | null, models: readonly string[]): Query<T[]> {
  return useEntry<T[]>(path, models, readPages)
}

const pageSize = 999

async function readPages(path: string): Promise<unknown[]> {
  const all: unknown[] = []
  for (let page = 1; ; page++) {
    const p = await get<Page<unknown>>(`${path}${path.includes('?') ? '&' : '?'}page_size=${pageSize}&page=${page}`)
    all.push(...p.results)
    if (p.next === null) return all
  }
}

function useEntry<T>(path: string | null, models: readonly string[], read: Entry['read']): Query<T> {
  const entry = useMemo(() => (path === null ? null : entryOf(path, models, read)), [path])
  useEffect(() => {
    if (!entry) return
    entry.users++
    if (entry.stale || (entry.users === 1 && entry.models.some(m => untold.has(m)))) void refetch(entry)
    return () => {
      entry.users--
      prune()
    }
  }, [entry])
  return (entry?.state ?? nothing).value as Query<T>
}

function entryOf(path: string, models: readonly string[], read: Entry['read']): Entry {
  let entry = entries.get(path)
  if (!entry) {
    entry = { path, models, read, users: 0, asked: 0, stale: true, state: signal<Query<unknown>>({ data: undefined, error: undefined, loading: true }) }
    entries.set(path, entry)
  }
  entry.models = [...new Set([...entry.models, ...models])] // several may show it
  return entry
}

async function refetch(entry: Entry) {
  const turn = ++entry.asked
  entry.stale = false
  entry.state.value = { ...entry.state.peek(), loading: true }
  try {
    const data = await entry.read(entry.path)
    if (turn === entry.asked) entry.state.value = { data, error: undefined, loading: false }
  } catch (e) {
    // What one may not see any more, or is gone, is not shown on.
    const data = e instanceof APIError && (e.status === 403 || e.status === 404) ? undefined : entry.state.peek().data
    if (turn === entry.asked) entry.state.value = { data, error: messageOf(e), loading: false }
    entry.stale = true
  }
}

/** changed says that rows of these models changed: what shows them is read again. */
export function changed(models: readonly string[]) {
  invalidate(e => e.models.some(m => m === '*' || models.includes(m)))
}

/**
 * changedAll reads everything again, after an interruption. No stream tells of usage, for which one may ask a few times a minute only: where none
 * was interrupted, it can stay.
 */
export const changedAll = (usage: boolean) => invalidate(e => usage || !e.models.includes('Usage'))

function invalidate(which: (e: Entry) => boolean) {
  for (const e of entries.values()) {
    if (!which(e)) continue
    e.stale = true
    if (e.users > 0) void refetch(e)
  }
}

/** patchQuery changes what is known of an address before the server has told: the next answer replaces it. */
export function patchQuery<T>(path: string, change: (data: T) => T) {
  const entry = entries.get(path)
  const known = entry?.state.peek()
  if (entry && known?.data !== undefined) entry.state.value = { ...known, data: change(known.data as T) }
}

/** forgetQueries drops everything, when another account signs in. */
export const forgetQueries = () => entries.clear()

function prune() {
  for (const [path, e] of entries) {
    if (entries.size <= kept) return
    if (e.users === 0) entries.delete(path)
  }
}
