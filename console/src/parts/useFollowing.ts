import { useLayoutEffect, useRef, useState } from 'preact/hooks'

/**
 * useFollowing is a draft of what is stored. When that changes meanwhile, merge says what becomes of the draft: by default the members that
 * changed are as they are stored now, and what was typed into the others stays.
 */
export function useFollowing<T extends object>(stored: T, merge: (from: T, to: T, draft: T) => T = byMember) {
  const [draft, setDraft] = useState(stored)
  const last = useRef(stored)
  const known = JSON.stringify(stored)
  // Before anybody can type: the first time too.
  useLayoutEffect(() => {
    const from = last.current
    last.current = stored
    setDraft(d => merge(from, stored, d))
  }, [known])
  return { draft, setDraft, dirty: JSON.stringify(draft) !== known }
}

function byMember<T extends object>(from: T, to: T, draft: T): T {
  const next = { ...to }
  for (const name of Object.keys(to) as (keyof T)[]) {
    if (JSON.stringify(from[name]) === JSON.stringify(to[name])) next[name] = draft[name]
  }
  return next
}
