import { useRef } from 'preact/hooks'
import type { Environment, Feature, Tag } from '../../api/types'
import { useMedia } from '../../parts/useMedia'
import { useWindow } from '../../parts/useWindow'
import { FeatureRow } from './FeatureRow'

interface Props {
  project: number
  environment: Environment
  features: Feature[]
  tags: Tag[]
  query: string
  opened: number | undefined
}

/** FeatureTable makes only the rows in sight: a thousand features scroll like ten. Arrow keys go from row to row. */
export function FeatureTable({ project, environment, features, tags, query, opened }: Props) {
  const scroller = useRef<HTMLDivElement>(null)
  const narrow = useMedia('(max-width: 800px)')
  const height = narrow ? 68 : 46
  const { from, to } = useWindow(scroller, features.length, height)

  const goTo = (row: number, selector: string) => {
    const el = scroller.current
    if (!el || row < 0 || row >= features.length) return
    const top = row * height
    if (top < el.scrollTop) el.scrollTop = top
    else if (top + height > el.scrollTop + el.clientHeight - 34) el.scrollTop = top + height - el.clientHeight + 34
    requestAnimationFrame(() => el.querySelector<HTMLElement>(`[aria-rowindex="${row + 2}"] ${selector}`)?.focus())
  }
  const onKeyDown = (e: KeyboardEvent) => {
    const target = e.target as HTMLElement
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10 }[e.key]
    if (step === undefined || target.tagName === 'INPUT') return
    const row = Number(target.closest('[aria-rowindex]')?.getAttribute('aria-rowindex')) - 2
    e.preventDefault()
    goTo(Math.min(Math.max(row + step, 0), features.length - 1), target.matches('.switch') ? '.switch' : '.feature-name')
  }

  return (
    <div class="table" ref={scroller} onKeyDown={onKeyDown} tabIndex={-1}>
      <div role="table" aria-label="Features" aria-rowcount={features.length + 1}>
        <div role="row" class="feature-row head" aria-rowindex={1}>
          <span role="columnheader">On</span>
          <span role="columnheader">Name</span>
          <span role="columnheader">Value</span>
          <span role="columnheader">Tags</span>
          <span role="columnheader">Overrides</span>
          <span role="columnheader">Changed</span>
        </div>
        <div role="rowgroup" class="rows" style={{ height: `${features.length * height}px` }}>
          {features.slice(from, to).map((f, i) => (
            <FeatureRow
              key={f.id}
              row={from + i}
              top={(from + i) * height}
              height={height}
              spot={{ project, environment, feature: f }}
              tags={tags}
              query={query}
              current={f.id === opened}
            />
          ))}
        </div>
      </div>
    </div>
  )
}
