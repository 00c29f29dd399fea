import { APIError, readError, Unreachable } from './error'
import { readJSON, writeJSON } from './json'
import { answeredBy, candidates, moved, offline, origin } from './nodes'
import { authorization } from './token'

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** Answer is what a request came to. */
export interface Answer<T> {
  data: T
  /** The index token of the state that the answer tells of; '' when the server gave none. */
  index: string
  node: string
}

export interface Options {
  body?: unknown
  signal?: AbortSignal
  /** How long one node may say nothing, in milliseconds: a long answer may come slowly. */
  timeout?: number
}

/** What happens when the token is refused; the session sets it. */
let onUnauthenticated = () => {}
export function whenUnauthenticated(f: () => void) {
  onUnauthenticated = f
}

/** The newest index that a write of ours was answered with, and the origin that answered. */
let written = { index: '', origin: '' }

/** The last write, while nobody knows whether it was done: no node answered, or the one that did could not tell. */
let unknown = { what: '', key: '' }

/**
 * request asks the API. A node that cannot be reached, or cannot answer now (503), is left for another one: reads are simply asked again; writes carry an Idempotency-Key,
 * so that none is done twice, also not when somebody sends again what nobody knows to be done. A node that has not seen our last write waits
 * until it has (Flagraft-Min-Index).
 */
export async function request<T>(method: Method, path: string, options: Options = {}): Promise<Answer<T>> {
  const what = `${authorization()} ${method} ${path} ${writeJSON(options.body)}`
  // Another write in between may have undone that one: then it is a new one.
  const key = method === 'GET' ? '' : what === unknown.what ? unknown.key : randomKey()
  const done = (known: boolean) => {
    if (method !== 'GET') unknown = known ? { what: '', key: '' } : { what, key }
  }
  const answer = (base: string, reply: Reply) => {
    offline.value = false
    done(reply.response.status < 500)
    return read<T>(method, base, reply)
  }
  let unable: [string, Reply] | undefined
  for (const base of candidates()) {
    const reply = await attempt(base, method, path, key, options)
    if (reply === null) continue
    if (reply.response.status === 503) {
      unable ??= [base, reply] // cut off, or too busy: another one may be able
      continue
    }
    moved(base)
    return answer(base, reply)
  }
  if (unable) return answer(...unable)
  done(false)
  offline.value = true
  throw new Unreachable()
}

/** get is request for reads, the data alone. */
export const get = async <T>(path: string, options?: Options) => (await request<T>('GET', path, options)).data

interface Reply {
  response: Response
  text: string
  /** What it was asked with. */
  auth: string | undefined
}

/** attempt is null when the node did not answer, or not to the end. */
async function attempt(base: string, method: Method, path: string, key: string, o: Options): Promise<Reply | null> {
  const headers: Record<string, string> = { Accept: 'application/json' }
  const auth = authorization()
  if (auth) headers.Authorization = auth
  if (key) headers['Idempotency-Key'] = key
  if (o.body !== undefined) headers['Content-Type'] = 'application/json'
  if (method === 'GET' && written.index !== '' && written.origin !== base) headers['Flagraft-Min-Index'] = written.index
  const silent = new AbortController()
  let timer = 0
  const heard = () => {
    clearTimeout(timer)
    timer = window.setTimeout(() => silent.abort(), o.timeout ?? 10_000)
  }
  heard()
  const signal = o.signal ? AbortSignal.any([o.signal, silent.signal]) : silent.signal
  try {
    const body = o.body === undefined ? undefined : writeJSON(o.body)
    const response = await fetch(base + path, { method, headers, body, signal, cache: 'no-store', credentials: 'omit', redirect: 'error' })
    return { response, text: await textOf(response, heard), auth }
  } catch (e) {
    if (o.signal?.aborted) throw e
    return null
  } finally {
    clearTimeout(timer)
  }
}

/** textOf is response.text() that tells of each piece. */
async function textOf(response: Response, heard: () => void): Promise<string> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  for (;;) {
    const piece = await reader?.read()
    if (!piece || piece.done) return text
    heard()
    text += piece.value
  }
}

function read<T>(method: Method, base: string, { response, text, auth }: Reply): Answer<T> {
  const node = response.headers.get('Flagraft-Node') ?? ''
  const index = response.headers.get('Flagraft-Index') ?? ''
  answeredBy.value = node
  const data = parse(text)
  if (!response.ok) throw refusal(response, data, auth)
  if (method !== 'GET' && index !== '') written = { index, origin: base }
  return { data: data as T, index, node }
}

function refusal(response: Response, data: unknown, auth: string | undefined): APIError {
  // Not for a token of before, whose refusal may come when somebody has signed in again.
  if (response.status === 401 && auth && auth === authorization()) onUnauthenticated()
  return readError(response.status, data)
}

function parse(text: string): unknown {
  if (text === '') return null
  try {
    return readJSON(text)
  } catch {
    throw new APIError(0, 'The server sent something else than JSON.')
  }
}

// crypto.randomUUID is there over HTTPS only.
function randomKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), b => b.toString(16).padStart(2, '0')).join('')
}

/**
 * download reads a file whole, from the first node that gives all of it, and gives it to the browser under the name that the server says. It may
 * take as long as it takes.
 */
export async function download(path: string) {
  const auth = authorization()
  let begun = false
  for (const base of candidates()) {
    try {
      const response = await fetch(base + path, { headers: { Authorization: auth ?? '' }, cache: 'no-store', credentials: 'omit', redirect: 'error' })
      begun = true
      const file = await response.blob()
      offline.value = false
      moved(base)
      if (!response.ok) throw refusal(response, parse(await file.text()), auth)
      return hand(file, response)
    } catch (e) {
      if (e instanceof APIError) throw e
    }
  }
  if (begun) throw new Error('The download broke off.')
  offline.value = true
  throw new Unreachable()
}

function hand(file: Blob, response: Response) {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(file)
  link.download = /filename="([^"]+)"/.exec(response.headers.get('Content-Disposition') ?? '')?.[1] ?? 'download'
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000)
}

/** currentOrigin is where requests go now. */
export const currentOrigin = () => origin.value
