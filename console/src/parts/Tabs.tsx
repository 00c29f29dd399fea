import { useRef } from 'preact/hooks'

interface Props {
  label: string
  tabs: { key: string; title: string; count?: number | undefined }[]
  chosen: string
  choose: (key: string) => void
  /** The id of the element that shows the chosen one. */
  panel: string
}

/** Tabs choose one of a few views. Arrow keys move. */
export function Tabs({ label, tabs, chosen, choose, panel }: Props) {
  const root = useRef<HTMLDivElement>(null)
  const onKeyDown = (e: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[e.key]
    if (step === undefined) return
    e.preventDefault()
    const at = tabs.findIndex(t => t.key === chosen)
    const next = tabs[(at + step + tabs.length) % tabs.length]!
    choose(next.key)
    root.current?.querySelector<HTMLElement>(`[data-key="${next.key}"]`)?.focus()
  }
  return (
    <div class="tabs" role="tablist" aria-label={label} ref={root} onKeyDown={onKeyDown}>
      {tabs.map(t => (
        <button
          key={t.key}
          type="button"
          role="tab"
          data-key={t.key}
          aria-selected={t.key === chosen}
          aria-controls={panel}
          tabIndex={t.key === chosen ? 0 : -1}
          onClick={() => choose(t.key)}
        >
          {t.title}
          {!!t.count && <span class="tab-count">{t.count}</span>}
        </button>
      ))}
    </div>
  )
}
