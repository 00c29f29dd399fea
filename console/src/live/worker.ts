import { follow, type News, type Source } from './follow'

// The shared worker: one stream for all tabs of an account in this browser.

declare const self: SharedWorkerGlobalScope

const tabs = new Set<MessagePort>()
let source: Source | null = null
let running: AbortController | null = null

const tell = (n: News) => tabs.forEach(t => t.postMessage(n))

self.onconnect = e => {
  const tab = e.ports[0]!
  tab.onmessage = ({ data }: MessageEvent<Source | 'bye'>) => {
    if (data === 'bye') {
      tabs.delete(tab)
      if (tabs.size === 0) stop()
      return
    }
    tabs.add(tab)
    if (source?.authorization !== data.authorization) stop()
    source = data
    start()
  }
}

function start() {
  if (running) return
  running = new AbortController()
  void follow(() => source!, tell, running.signal)
}

function stop() {
  running?.abort()
  running = null
}
