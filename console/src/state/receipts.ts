import { signal } from '@preact/signals'
import { get } from '../api/request'
import { brief } from '../parts/brief'

/** Receipt is what became of a change, as the toast shows it. */
export interface Receipt {
  id: number
  label: string
  kind: 'committed' | 'live' | 'failed'
  detail: string
  undo?: (() => unknown) | undefined
}

export const receipts = signal<Receipt[]>([])

let last = 0
let newest: { index: string; models: readonly string[] } = { index: '', models: [] }
const shown = 3

/** ownWrite is the newest write of this tab: its index, and the tables that were read again for it. */
export const ownWrite = () => newest

function add(r: Omit<Receipt, 'id'>): number {
  const id = ++last
  receipts.value = [...receipts.value.slice(1 - shown), { ...r, label: brief(r.label), id }]
  return id
}

function update(id: number, change: Partial<Receipt>) {
  receipts.value = receipts.value.map(r => (r.id === id ? { ...r, ...change } : r))
}

export function dismiss(id: number) {
  receipts.value = receipts.value.filter(r => r.id !== id)
}

/** failed shows a refusal. */
export const failed = (label: string, why: string) => add({ label, kind: 'failed', detail: why })

interface Committed {
  label: string
  index: string
  models: readonly string[]
  began: number
  environment?: string | undefined
  undo?: (() => unknown) | undefined
}

/** committed shows a change that the cluster has accepted, and follows it until all ready nodes serve it. */
export function committed({ label, index, models, began, environment, undo }: Committed) {
  newest = { index, models }
  const detail = `Committed at index ${number(index)}`
  const id = add({ label, kind: 'committed', detail, undo })
  if (environment !== undefined && index !== '') void followToNodes(id, detail, index, began, environment)
}

interface Views {
  ready_nodes: number
  reached: boolean
}

const tries = 15 // of two seconds each, which the node waits
const pause = 2000 // instead, after an error: that comes at once

async function followToNodes(id: number, detail: string, index: string, began: number, environment: string) {
  const path = `/api/flagraft/v1/environments/${encodeURIComponent(environment)}/views/?index=${encodeURIComponent(index)}`
  for (let i = 0; i < tries && receipts.value.some(r => r.id === id); i++) {
    const views = await get<Views>(path).catch(() => null)
    if (views?.reached) {
      const n = views.ready_nodes
      update(id, { kind: 'live', detail: `${detail}, live on ${n} of ${n} ${n === 1 ? 'node' : 'nodes'} after ${Math.round(performance.now() - began)} ms` })
      return
    }
    if (views) update(id, { detail: `${detail}; not on all nodes yet` })
    else await new Promise(done => setTimeout(done, pause))
  }
}

const number = (index: string) => index.slice(index.indexOf('-') + 1)
