import type { ComponentChildren } from 'preact'
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { Icon } from './Icon'

export interface Choice {
  label: string
  note?: string
  chosen?: boolean
  href?: string
  run?: () => unknown
}

interface Props {
  label: string
  button: ComponentChildren
  choices: (Choice | 'line')[]
  class?: string
  align?: 'left' | 'right'
  up?: boolean
  /** Any number can be chosen. */
  many?: boolean
}

/** Menu is a button that opens a list of things to go to or to do. Arrow keys move, letters jump, Escape closes. */
export function Menu({ label, button, choices, class: name = '', align = 'left', up = false, many = false }: Props) {
  const [open, setOpen] = useState(false)
  const root = useRef<HTMLDivElement>(null)
  const id = useId()
  // Before the next key: who presses an arrow right after Enter means the list.
  useLayoutEffect(() => {
    if (!open) return
    items(root.current)[Math.max(0, choices.filter(c => c !== 'line').findIndex(c => c.chosen))]?.focus()
    const outside = (e: Event) => root.current?.contains(e.target as globalThis.Node) || setOpen(false)
    document.addEventListener('pointerdown', outside)
    return () => document.removeEventListener('pointerdown', outside)
  }, [open])
  const close = () => {
    setOpen(false)
    root.current?.querySelector('button')?.focus()
  }
  return (
    <div class={`menu ${name}`} ref={root} onKeyDown={e => open && move(e, root.current, close)}>
      <button type="button" class="menu-button" aria-haspopup="menu" aria-expanded={open} aria-controls={open ? id : undefined} onClick={() => setOpen(!open)}>
        <span class="visually-hidden">{label}: </span>
        {button}
      </button>
      {open && (
        <div class={`menu-list ${align} ${up ? 'up' : ''}`} role="menu" id={id} aria-label={label}>
          {choices.map((c, i) => (c === 'line' ? <hr key={i} /> : <Item key={i} choice={c} many={many} done={close} />))}
        </div>
      )}
    </div>
  )
}

function Item({ choice: c, many, done }: { choice: Choice; many: boolean; done: () => void }) {
  const role = c.chosen === undefined ? 'menuitem' : many ? 'menuitemcheckbox' : 'menuitemradio'
  const inside = (
    <>
      <span class="menu-check">{c.chosen && <Icon name="check" size={16} />}</span>
      <span class="menu-text">{c.label}</span>
      {c.note && <span class="menu-note">{c.note}</span>}
    </>
  )
  const act = () => {
    done()
    c.run?.()
  }
  return c.href ? (
    <a role={role} aria-checked={c.chosen} tabIndex={-1} href={c.href} onClick={act}>
      {inside}
    </a>
  ) : (
    <button role={role} aria-checked={c.chosen} type="button" tabIndex={-1} onClick={act}>
      {inside}
    </button>
  )
}

const items = (root: HTMLElement | null) => [...(root?.querySelectorAll<HTMLElement>('[role^=menuitem]') ?? [])]

function move(e: KeyboardEvent, root: HTMLElement | null, close: () => void) {
  const all = items(root)
  const at = all.indexOf(document.activeElement as HTMLElement)
  const to = (i: number) => {
    e.preventDefault()
    all[(i + all.length) % all.length]?.focus()
  }
  if (e.key === 'Escape' || e.key === 'Tab') {
    e.stopPropagation()
    close()
  } else if (e.key === 'ArrowDown') to(at + 1)
  else if (e.key === 'ArrowUp') to(at - 1)
  else if (e.key === 'Home') to(0)
  else if (e.key === 'End') to(-1)
  else if (e.key.length === 1 && !e.ctrlKey && !e.metaKey) {
    const next = [...all.slice(at + 1), ...all].find(x => x.textContent?.trim().toLowerCase().startsWith(e.key.toLowerCase()))
    next?.focus()
  }
}
