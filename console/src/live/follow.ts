// Following the stream of changes. It runs in the shared worker, once for all tabs of the browser, or in the page where there is no such worker.

/** ChangeEvent says which tables others changed, as the API's events/ does. */
export interface ChangeEvent {
  index: string
  models: string[]
  users: number[]
}

/** News is what those who follow hear. */
export type News =
  | { kind: 'change'; event: ChangeEvent }
  | { kind: 'begun' } // what was read before may be old already
  | { kind: 'gap' } // something may have been missed
  | { kind: 'down'; origin: string } // the node there was lost
  | { kind: 'up'; origin: string }

export interface Source {
  authorization: string
  /** Where to ask, the best first. */
  origins: string[]
  /** A node that was given up though its stream may be alive: it is cut off from the others, and hears of nothing. */
  left?: string
}

const path = '/api/flagraft/v1/events/'
const silence = 40_000 // the server says something every 15 s

/** follow runs until the signal ends it. It goes from node to node as they fail. again: another one went before, and something may have been missed. */
export async function follow(source: () => Source, tell: (n: News) => void, signal: AbortSignal, again = false) {
  let epoch = again ? 'before' : ''
  for (let turn = 0; !signal.aborted; turn++) {
    const { authorization, origins } = source()
    const origin = origins[turn % origins.length]!
    const read = await stream(origin, authorization, signal, line => {
      if (line.startsWith('data: ')) {
        tell({ kind: 'change', event: JSON.parse(line.slice(6)) as ChangeEvent })
      } else if (line !== ': ping') {
        tell({ kind: 'up', origin })
        tell({ kind: epoch === '' ? 'begun' : 'gap' })
        epoch = line
      }
    })
    if (signal.aborted) return
    if (read) turn-- // the same node first: it may only have restarted the connection
    else tell({ kind: 'down', origin })
    await new Promise(done => setTimeout(done, Math.min(200 * (turn + 1), 2000)))
  }
}

/** Following is a follow that can be sent elsewhere. */
export class Following {
  private at = ''
  private running = new AbortController()

  constructor(
    private source: Source,
    private readonly tell: (n: News) => void,
  ) {
    this.run(false)
  }

  use(source: Source) {
    this.source = source
    if (source.left !== this.at || this.at === '') return
    this.close()
    this.running = new AbortController()
    this.run(true)
  }

  close() {
    this.running.abort()
    this.at = ''
  }

  private run(again: boolean) {
    const hear = (n: News) => {
      if (n.kind === 'up') this.at = n.origin
      if (n.kind === 'down') this.at = ''
      this.tell(n)
    }
    void follow(() => this.source, hear, this.running.signal, again)
  }
}

/** stream reads one connection to its end and reports whether it brought anything. */
async function stream(origin: string, authorization: string, signal: AbortSignal, line: (text: string) => void): Promise<boolean> {
  const quiet = new AbortController()
  let timer = setTimeout(() => quiet.abort(), silence)
  let brought = false
  try {
    const response = await fetch(origin + path, {
      headers: { Authorization: authorization, Accept: 'text/event-stream' },
      signal: AbortSignal.any([signal, quiet.signal]),
      cache: 'no-store',
      credentials: 'omit',
    })
    if (!response.ok || !response.body) return false
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
    let rest = ''
    for (;;) {
      const { value, done } = await reader.read()
      if (done) return brought
      brought = true
      clearTimeout(timer)
      timer = setTimeout(() => quiet.abort(), silence)
      const lines = (rest + value).split('\n')
      rest = lines.pop() ?? ''
      for (const text of lines) if (text !== '') line(text)
    }
  } catch {
    return false
  } finally {
    clearTimeout(timer)
  }
}
