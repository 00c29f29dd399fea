import { signal } from '@preact/signals'

/** Receipt is what became of a change, as the toast shows it. */
export interface Receipt {
  id: number
  label: string
  kind: 'committed' | 'live' | 'failed'
  detail: string
  undo?: () => unknown
}

export const receipts = signal<Receipt[]>([])

let last = 0
const shown = 4

function add(r: Omit<Receipt, 'id'>): number {
  const id = ++last
  receipts.value = [...receipts.value.slice(1 - shown), { ...r, id }]
  return id
}

export function dismiss(id: number) {
  receipts.value = receipts.value.filter(r => r.id !== id)
}

/** failed shows a refusal. */
export const failed = (label: string, why: string) => add({ label, kind: 'failed', detail: why })

/** committed shows a change that the cluster has accepted. */
export function committed(c: { label: string; index: string; began: number; environment?: string; undo?: () => unknown }) {
  const number = c.index.slice(c.index.indexOf('-') + 1)
  add({ label: c.label, kind: 'committed', detail: `committed at index ${number}`, undo: c.undo })
}
