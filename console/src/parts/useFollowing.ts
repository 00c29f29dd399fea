import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { me } from '../state/session'

// Drafts that were neither saved nor discarded when their form went, as by a filter or a sign-out: whoever opens it again goes on from there.
const left = new Map<string, { from: unknown; draft: unknown; mine: unknown }>()

/**
 * useFollowing is a draft of what is stored. When that changes meanwhile, merge says what becomes of the draft: by default the members that
 * changed are as they are stored now, and what was typed into the others stays. Whoever saves it does so in sending: what is typed after that
 * stays, too, when the saved draft comes back. A draft with a name outlives its form. Where somebody else's change took the place of what was
 * typed, overtaken brings that back.
 */
export function useFollowing<T extends object>(stored: T, merge: (from: T, to: T, draft: T) => T = byMember, name?: string) {
  const [key] = useState(() => name && `${me.peek()?.id} ${name}`)
  const [found] = useState(() => (key ? (left.get(key) as { from: T; draft: T; mine: T | undefined } | undefined) : undefined))
  const [draft, setDraft] = useState(found?.draft ?? stored)
  const [mine, setMine] = useState(found?.mine)
  const last = useRef(found?.from ?? stored)
  const sent = useRef<T | undefined>(undefined)
  const known = JSON.stringify(stored)
  const dirty = JSON.stringify(draft) !== known
  // Before anybody can type: the first time too.
  useLayoutEffect(() => {
    const from = sent.current ? arrived(sent.current, last.current, stored) : last.current
    last.current = stored
    const next = merge(from, stored, newest.current.draft)
    // The same the other way round keeps what was typed; the second time it has the members that are stored now.
    const typed = merge(stored, stored, merge(from, newest.current.draft, stored))
    if (unordered(typed) !== unordered(next)) setMine(typed)
    setDraft(next)
  }, [known])
  const newest = useRef({ draft, dirty, mine })
  newest.current = { draft, dirty, mine }
  useEffect(
    () => () => {
      if (!key) return
      if (newest.current.dirty || newest.current.mine) left.set(key, { from: last.current, draft: newest.current.draft, mine: newest.current.mine })
      else left.delete(key)
    },
    [],
  )
  const discard = () => {
    newest.current = { draft: stored, dirty: false, mine: undefined } // the form may go before it is drawn again
    setMine(undefined)
    setDraft(stored)
  }
  const sending = async <A>(save: () => Promise<A>): Promise<A> => {
    sent.current = draft
    const answer = await save()
    // Not before: a refusal leaves it. What was overtaken meanwhile stays as well.
    setMine(m => (m === mine ? undefined : m))
    const kept = key && left.get(key)
    if (kept && kept.mine === mine) kept.mine = undefined
    return answer
  }
  const overtaken = mine && (() => (setMine(undefined), setDraft(mine)))
  return { draft, setDraft, dirty, sending, discard, overtaken }
}

/** unordered is what two drafts have in common that hold the same: the order of a list alone is nothing that was typed. */
const unordered = (draft: object) => JSON.stringify(Array.isArray(draft) ? draft.map(x => JSON.stringify(x)).sort() : draft)

/** arrived is what a draft comes from: what was sent, where that is what is stored now. */
function arrived<T extends object>(sent: T, from: T, to: T): T {
  const same = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b)
  if (Array.isArray(to)) return same(sent, to) ? sent : from
  const base = { ...from }
  for (const name of Object.keys(to) as (keyof T)[]) if (same(sent[name], to[name])) base[name] = sent[name]
  return base
}

function byMember<T extends object>(from: T, to: T, draft: T): T {
  const next = { ...to }
  for (const name of Object.keys(to) as (keyof T)[]) {
    if (JSON.stringify(from[name]) === JSON.stringify(to[name])) next[name] = draft[name]
  }
  return next
}
