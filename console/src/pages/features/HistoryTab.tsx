import { useRef, useState } from 'preact/hooks'
import { useQuery } from '../../api/query'
import type { Flag } from '../../api/types'
import { Empty } from '../../parts/Empty'
import { ago, moment } from '../../parts/time'
import { useOnce } from '../../parts/useOnce'
import { featureModels, type Spot } from './flag'
import { lines, linked, paired, type FeatureEvent, type Links } from './history'
import { undoing } from './undo'

/** HistoryTab is what happened to the feature here: who, when, from what to what, and back. */
export function HistoryTab({ spot, flag }: { spot: Spot; flag: Flag }) {
  const { environment, feature } = spot
  const [before, setBefore] = useState<string[]>([]) // where the pages begin that were gone through
  const seen = useRef<Links>({ links: new Map(), states: new Map() }).current
  const path = `/api/flagraft/v1/environments/${encodeURIComponent(environment.api_key)}/features/${feature.id}/history/?limit=50`
  const history = useQuery<{ next: string | null; results: FeatureEvent[] }>(before.length > 0 ? `${path}&before=${before.at(-1)}` : path, featureModels)
  if (history.error && !history.data) return <Empty icon="alert" title={history.error} />
  const events = linked(history.data?.results ?? [], seen).map(paired).map(e => ({ event: e, lines: e.changes.flatMap(lines) })).filter(e => e.lines.length > 0)
  const next = history.data?.next ?? null
  if (history.data && events.length === 0 && next === null && before.length === 0) return <Empty icon="audit" title="Nothing happened yet" />
  return (
    <>
      <ol class="history">
        {events.map(({ event, lines }) => (
          <Event key={event.id} spot={spot} flag={flag} event={event} lines={lines} />
        ))}
      </ol>
      {(next !== null || before.length > 0) && (
        <nav class="pager" aria-label="Pages">
          <button type="button" class="button small" disabled={before.length === 0} onClick={() => setBefore(before.slice(0, -1))}>
            Newer
          </button>
          <button type="button" class="button small" disabled={next === null} onClick={() => setBefore([...before, new URL(next!, location.href).searchParams.get('before')!])}>
            Older
          </button>
        </nav>
      )}
    </>
  )
}

function Event({ spot, flag, event, lines: all }: { spot: Spot; flag: Flag; event: FeatureEvent; lines: ReturnType<typeof lines> }) {
  const undo = undoing(event, spot, flag)
  const name = event.author.name || 'the installation'
  const bringBack = useOnce(() => undo?.(`${spot.feature.name} as before ${moment(event.time)}`))
  return (
    <li class="history-event">
      <div class="history-head">
        <strong>{name}</strong>
        <time class="muted" dateTime={event.time} title={`${moment(event.time)}, at index ${event.index}`}>
          {ago(event.time)}
        </time>
        {undo && (
          <button type="button" class="button small" aria-label={`Undo what ${name} changed ${ago(event.time)}`} onClick={bringBack}>
            Undo
          </button>
        )}
      </div>
      <ul>
        {all.map((l, i) => (
          <li key={i} class="history-line">
            {l.what}
            {l.old !== undefined && <del class="mono">{l.old}</del>}
            {l.now !== undefined && <ins class="mono">{l.now}</ins>}
          </li>
        ))}
      </ul>
    </li>
  )
}
