import { Following, type News, type Source } from './follow'

// The shared worker: one stream for all tabs of an account in this browser.

declare const self: SharedWorkerGlobalScope

const tabs = new Set<MessagePort>()
let authorization = ''
let following: Following | null = null

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
    if (authorization !== data.authorization) stop()
    authorization = data.authorization
    if (following) following.use(data)
    else following = new Following(data, tell)
  }
}

function stop() {
  following?.close()
  following = null
}
