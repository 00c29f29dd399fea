import { messageOf } from './error'
import { changed } from './query'
import { request, type Method } from './request'
import { committed, failed } from '../state/receipts'

export interface Write {
  /** What was done, for the receipt: "new_checkout switched on". */
  label: string
  /** The tables that change, as the change log names them. */
  models: readonly string[]
  /** The key of the environment whose clients see the change; without: the receipt ends with the commit. */
  environment?: string | undefined
  /** Runs the opposite, offered in the receipt. */
  undo?: (() => unknown) | undefined
  /** No toast for a refusal: the caller shows it. */
  quiet?: boolean
}

// Refusals that the caller shows, with what was to be done.
const quiet = new WeakMap<Error, string>()

/** tellAnyway shows a refusal in a toast after all: where the caller would have shown it is gone. */
export function tellAnyway(e: unknown) {
  const label = e instanceof Error ? quiet.get(e) : undefined
  if (label !== undefined) failed(label, messageOf(e))
}

/** write changes something, shows the receipt and has everything that shows it read again. It throws an APIError when it is refused. */
export async function write<T>(method: Exclude<Method, 'GET'>, path: string, body: unknown, w: Write): Promise<T> {
  const began = performance.now()
  try {
    const answer = await request<T>(method, path, { body })
    committed({ ...w, index: answer.index, began })
    return answer.data
  } catch (e) {
    if (!w.quiet) failed(w.label, messageOf(e))
    else if (e instanceof Error) quiet.set(e, w.label)
    throw e
  } finally {
    changed(w.models)
  }
}
