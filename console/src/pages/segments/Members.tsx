import { useEffect, useState } from 'preact/hooks'
import { useAsk } from '../../api/ask'
import { complete, sent, type RuledSegment, type Rule } from './rules'

interface Tally {
  matched: number
  looked_at: number
  identities: number
  complete: boolean
}

interface Props {
  path: string
  segment: RuledSegment | undefined
  rules: Rule[]
}

/** Members is how many stored identities match: of the saved rules at once, of others when asked, since the server looks at each identity. */
export function Members({ path, segment, rules }: Props) {
  const saved = segment?.rules
  const [asked, setAsked] = useState(saved)
  const [turn, setTurn] = useState(0)
  useEffect(() => setAsked(saved), [JSON.stringify(saved)])
  const { data: tally, error, loading } = useAsk<Tally>(asked ? path : null, { rules: sent(asked ?? []), segment: segment?.id ?? null }, 0, turn)
  const stale = JSON.stringify(asked) !== JSON.stringify(rules)
  return (
    <section class="trial-part" aria-labelledby="members">
      <h2 id="members">Stored identities</h2>
      <p aria-live="polite" aria-busy={!!asked && loading}>
        {error ? <span class="field-error">{error}</span> : tally ? <Told tally={tally} /> : <span class="muted">{asked ? 'Counting…' : 'Not counted yet.'}</span>}
        {tally && stale && <span class="muted"> Before your changes.</span>}
      </p>
      <button
        type="button"
        class="button small"
        disabled={!complete(rules) || (!!asked && loading)}
        onClick={() => {
          setAsked(rules)
          setTurn(turn + 1)
        }}
      >
        {!asked ? 'Count' : stale ? 'Count with the changes' : 'Count again'}
      </button>
    </section>
  )
}

const number = new Intl.NumberFormat('en')

function Told({ tally: t }: { tally: Tally }) {
  if (t.identities === 0) return <>No identity is stored in this environment.</>
  if (!t.complete) {
    return (
      <>
        At least <strong>{number.format(t.matched)}</strong> match: {number.format(t.looked_at)} of {number.format(t.identities)} were looked at in the time there is.
      </>
    )
  }
  const share = Math.round((t.matched / t.identities) * 1000) / 10
  return (
    <>
      <strong>{number.format(t.matched)}</strong> of {number.format(t.identities)} match ({share} %).
    </>
  )
}
