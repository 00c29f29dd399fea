/** What takes what is typed. */
const typedInto = 'textarea, input:not([type=checkbox], [type=radio])'

const usable = 'a[href], button:not(:disabled), input:not(:disabled), select:not(:disabled), textarea:not(:disabled), summary, h2[tabindex]'

/** The last that had the focus, until the pointer is pressed: who presses it somewhere wants no focus elsewhere. */
let last: HTMLElement | null = null

/**
 * What was clicked, or got Enter or Escape, last, while it may go for that: what goes for another reason, as others remove it or it is scrolled out of
 * a long list, leaves whoever types on, or presses the next key, with nothing that takes it.
 */
let acted: HTMLElement | null = null

/** What has the focus for a button that is disabled, until that can be pressed again or goes. */
let deputy: HTMLElement | null | undefined = null

/** The button that got the focus, and when: whoever holds the key or presses it twice meant the one before. */
let given: { to: HTMLElement | null | undefined; at: number } = { to: null, at: 0 }
const twice = 600

/**
 * keepFocus gives the focus to what is nearest when the element that has it goes, as a row that is removed does, or is disabled, as a button whose
 * form is sent. Otherwise nothing would have it: Escape would not close the panel any more, and a screen reader begin at the top of the page.
 */
export function keepFocus() {
  document.addEventListener('focusin', e => (last = e.target as HTMLElement))
  document.addEventListener('pointerdown', () => (last = null), true)
  document.addEventListener('pointerup', () => (last = document.activeElement as HTMLElement), true) // a button that had it before
  document.addEventListener('click', () => (acted = last?.matches(typedInto) ? null : last), true) // Space and Enter click buttons
  document.addEventListener('change', () => (acted = last?.localName === 'select' ? last : acted), true)
  for (const scrolls of ['wheel', 'touchmove']) document.addEventListener(scrolls, () => (acted = null), { capture: true, passive: true })
  document.addEventListener(
    'keydown',
    e => {
      acted = e.key === 'Escape' || (e.key === 'Enter' && !last?.matches('textarea')) ? last : null
      if ((e.key !== 'Enter' && e.key !== ' ') || e.target !== given.to || (!e.repeat && performance.now() - given.at > twice)) return
      e.preventDefault()
      e.stopPropagation()
    },
    true,
  )
  new MutationObserver(records => {
    if (!last) return
    const gone = records.find(r => [...r.removedNodes].some(n => n.contains(last)))
    // Not at once: whoever knows a better place, as a dialog does, comes first.
    if (gone && acted === last) {
      const came = inPlaceOf(gone, records)
      lost(() => near(gone, came))
    } else if (gone) lost(() => around(gone))
    else if (!records.some(r => r.target === last)) return
    else if (last.matches(':disabled')) lost(() => (deputy = last?.closest<HTMLElement>('[tabindex="-1"]') ?? deputy))
    else back(last)
  }).observe(document.body, { childList: true, subtree: true, attributeFilter: ['disabled'] })
}

type Place = () => HTMLElement | null | undefined

/** What looks for a place at the next frame: a button that is disabled and then goes before it needs one only for the second. */
let looking: Place | undefined

function lost(place: Place) {
  const of = last
  looking = place
  requestAnimationFrame(() => {
    if (!of || last !== of || looking !== place) return
    if (of.isConnected && !of.matches(':disabled')) return back(of) // it was only moved
    if (!free(of)) return
    const to = place()
    to?.focus({ preventScroll: true })
    given = { to: to?.localName === 'button' ? to : null, at: performance.now() }
    if (of.isConnected) last = of // its turn comes: see back
  })
}

/** back gives a button that can be pressed again the focus that it had. */
function back(button: HTMLElement) {
  if (free(button)) button.focus({ preventScroll: true })
}

/** free tells whether nothing else got the focus that an element had. */
const free = (of: HTMLElement) => ([document.body, of, deputy] as (Element | null | undefined)[]).includes(document.activeElement)

/** around is the part of the page that it was in, which does nothing with keys but scroll, and close itself. */
const around = (r: MutationRecord) => {
  const part = r.target.isConnected ? (r.target as HTMLElement).closest<HTMLElement>('[tabindex="-1"]') : null
  return part ?? document.getElementById('main')
}

/** inPlaceOf is what was put where it was: at once, as more may come beside that before the next frame. */
const inPlaceOf = (r: MutationRecord, records: MutationRecord[]) => {
  const there = r.previousSibling ? r.previousSibling.nextSibling : r.target.firstChild
  return records.some(a => [...a.addedNodes].includes(there as ChildNode)) ? there : null
}

/** near is what came in its place, or the same in the next row or in the one before; without any, the beginning of the part of the page. */
function near(r: MutationRecord, came: Node | null): HTMLElement | null | undefined {
  const like = [last!.localName, ...last!.classList].map(CSS.escape).join('.')
  // A form in the place of its button begins with what is filled in.
  const form = came instanceof HTMLElement && last!.parentNode === null && firstOf(came)
  if (form) return form
  for (const row of [came, r.nextSibling, r.previousSibling]) {
    const same = row instanceof HTMLElement ? (row.matches(like) ? row : row.querySelector<HTMLElement>(like)) : null
    if (same?.matches(usable)) return same
    if (row instanceof HTMLElement && row.matches(usable)) return row
  }
  const main = document.getElementById('main')
  for (let at = r.target as HTMLElement | null; at && !at.contains(main); at = at.parentElement) {
    if (!at.isConnected) continue
    if (at.matches('[tabindex="-1"]')) return at
    const first = firstOf(at)
    if (first) return first
  }
  return main
}

const firstOf = (part: HTMLElement) => [...part.querySelectorAll<HTMLElement>(usable)].find(e => e.checkVisibility({ visibilityProperty: true }))
