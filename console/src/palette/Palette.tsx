import { signal } from '@preact/signals'
import { useLocation } from 'preact-iso'
import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import '../styles/palette.css'
import { Icon } from '../parts/Icon'
import { useHits } from './find'

/** Whether the palette is open. */
export const paletteOpen = signal(false)

/** PaletteKeys opens the palette with ⌘K or Ctrl-K, wherever one is. */
export function PaletteKeys() {
  useEffect(() => {
    const pressed = (e: KeyboardEvent) => {
      if (e.key.toLowerCase() !== 'k' || !(e.metaKey || e.ctrlKey) || e.altKey || e.shiftKey) return
      e.preventDefault()
      paletteOpen.value = !paletteOpen.value
    }
    document.addEventListener('keydown', pressed)
    return () => document.removeEventListener('keydown', pressed)
  }, [])
  return paletteOpen.value ? <Palette close={() => (paletteOpen.value = false)} /> : null
}

/** Palette jumps to anything by its name. */
function Palette({ close }: { close: () => void }) {
  const { route } = useLocation()
  const [text, setText] = useState('')
  const [at, setAt] = useState(0)
  const hits = useHits(text)
  const dialog = useRef<HTMLDialogElement>(null)
  const id = useId()
  const chosen = Math.min(at, Math.max(0, hits.length - 1))
  useLayoutEffect(() => {
    const shown = dialog.current!
    shown.showModal()
    return () => shown.close() // gives the focus back, which nothing outside can have before
  }, [])
  useEffect(() => document.getElementById(`${id}-${chosen}`)?.scrollIntoView({ block: 'nearest' }), [chosen])
  const open = (href: string) => {
    close()
    route(href)
  }
  const onKeyDown = (e: KeyboardEvent) => {
    if (e.isComposing) return // the key belongs to the input method
    const step = { ArrowDown: 1, ArrowUp: -1 }[e.key]
    if (step !== undefined && hits.length > 0) {
      e.preventDefault()
      setAt((chosen + step + hits.length) % hits.length)
    } else if (e.key === 'Enter' && hits[chosen]) {
      e.preventDefault()
      open(hits[chosen].href)
    }
  }
  return (
    <dialog
      ref={dialog}
      class="dialog palette"
      aria-label="Jump to"
      onCancel={e => {
        e.preventDefault()
        close()
      }}
      onPointerDown={e => e.target === dialog.current && close()}
    >
      <div class="palette-input">
        <Icon name="search" />
        <input
          type="text"
          role="combobox"
          aria-label="Jump to a feature, segment, identity or page"
          aria-expanded="true"
          aria-controls={id}
          aria-activedescendant={hits.length > 0 ? `${id}-${chosen}` : undefined}
          aria-autocomplete="list"
          autocomplete="off"
          spellcheck={false}
          placeholder="Jump to a feature, segment, identity or page"
          value={text}
          onInput={e => {
            setText(e.currentTarget.value)
            setAt(0)
          }}
          onKeyDown={onKeyDown}
        />
      </div>
      <ul class="palette-hits" id={id} role="listbox" aria-label="Found">
        {hits.map((h, i) => (
          <li key={h.href + h.kind} id={`${id}-${i}`} role="option" aria-selected={i === chosen} onPointerMove={() => setAt(i)} onClick={() => open(h.href)}>
            <Icon name={h.icon} size={16} />
            <span class="palette-name">{h.name}</span>
            <span class="menu-note">{h.kind}</span>
          </li>
        ))}
      </ul>
      {hits.length === 0 && <p class="palette-none">Nothing is called like that here.</p>}
    </dialog>
  )
}
