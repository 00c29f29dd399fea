import workerURL from './worker?sharedworker&url'
import { Following, type News, type Source } from './follow'

/** Connection is a place in the stream. */
export interface Connection {
  /** Tells where to ask from now on. */
  use: (source: Source) => void
  close: () => void
}

/** connect follows the changes for one account, through the worker where there is one. */
export function connect(account: number, source: Source, hear: (n: News) => void): Connection {
  if (typeof SharedWorker === 'undefined') return direct(source, hear)
  try {
    return shared(account, source, hear)
  } catch {
    return direct(source, hear) // a browser that is told to keep nothing refuses it
  }
}

// The policy names the only address that a worker of ours may have.
const policy = window.trustedTypes?.createPolicy('flagraft-worker', {
  createScriptURL: url => {
    if (url !== workerURL) throw new TypeError('no worker of ours')
    return url
  },
})

function shared(account: number, source: Source, hear: (n: News) => void): Connection {
  const url = (policy?.createScriptURL(workerURL) ?? workerURL) as string
  const { port } = new SharedWorker(url, { name: `flagraft-${account}`, type: 'module' })
  port.onmessage = ({ data }: MessageEvent<News>) => hear(data)
  port.postMessage(source)
  const bye = () => port.postMessage('bye')
  const back = (e: PageTransitionEvent) => {
    if (!e.persisted) return
    port.postMessage(source)
    hear({ kind: 'gap' }) // the page stood still meanwhile
  }
  window.addEventListener('pagehide', bye)
  window.addEventListener('pageshow', back)
  return {
    use: s => port.postMessage((source = s)),
    close: () => {
      bye()
      window.removeEventListener('pagehide', bye)
      window.removeEventListener('pageshow', back)
      port.close()
    },
  }
}

const direct = (source: Source, hear: (n: News) => void): Connection => new Following(source, hear)
