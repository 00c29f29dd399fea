import '../../styles/charts.css'
import { count } from '../../parts/amount'
import { kinds, total, type Day } from './usage'

const width = 900
const height = 220

/** Columns are the requests of each day, stacked by kind. The same numbers are in a table below. */
export function Columns({ days }: { days: Day[] }) {
  const most = Math.max(...days.map(total))
  const top = niceAbove(most)
  const step = width / days.length
  return (
    <figure>
      <ul class="legend">
        {kinds.map((k, i) => (
          <li key={k.key}>
            <span class={`key kind${i}`} /> {k.title}
          </li>
        ))}
      </ul>
      <div class="chart">
        <span class="chart-top">{count(top)}</span>
        <svg class="columns" viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" role="img" aria-label={`Requests a day for ${days.length} days, ${count(most)} at most`}>
          {[0, 0.5, 1].map(share => (
            <line key={share} x1={0} x2={width} y1={share * height} y2={share * height} />
          ))}
          {days.map((d, i) => (
            <g key={d.day}>
              <title>{`${d.day}: ${count(total(d))}`}</title>
              {stack(d).map(({ from, to }, k) => (
                <rect key={k} class={`kind${k}`} x={i * step + step * 0.15} width={step * 0.7} y={height - (to / top) * height} height={((to - from) / top) * height} />
              ))}
            </g>
          ))}
        </svg>
      </div>
      <div class="axis" aria-hidden="true">
        <span>{dayName(days[0]!.day)}</span>
        <span>{dayName(days[Math.floor(days.length / 2)]!.day)}</span>
        <span>{dayName(days.at(-1)!.day)}</span>
      </div>
    </figure>
  )
}

function stack(d: Day) {
  let top = 0
  return kinds.map(k => {
    const from = top
    top += d[k.key]
    return { from, to: top }
  })
}

/** niceAbove is the next of 1, 2, 5, 10, 20 … that is not below n. */
function niceAbove(n: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(n, 1)))
  return [1, 2, 5, 10].map(f => f * power).find(v => v >= n)!
}

export const dayName = (day: string) => new Date(day).toLocaleDateString(undefined, { day: 'numeric', month: 'short', timeZone: 'UTC' })
