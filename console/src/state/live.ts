import { signal } from '@preact/signals'
import { candidates, learn, origin, type NodeList } from '../api/nodes'
import { changed, changedAll } from '../api/query'
import { get } from '../api/request'
import { authorization } from '../api/token'
import { connect, type Connection } from '../live/connect'
import type { News } from '../live/follow'
import { rights } from './place'
import { ownWrite } from './receipts'

/** Whether the stream of changes is connected. */
export const live = signal(false)

let connection: Connection | null = null
let account = 0
let timer = 0
let unfollow = () => {}

const source = () => ({ authorization: authorization() ?? '', origins: candidates() })

/** openLive begins to follow what others change, and which nodes there are. */
export function openLive(user: number) {
  closeLive()
  account = user
  connection = connect(user, source(), hear)
  let at = origin.peek()
  unfollow = origin.subscribe(to => {
    if (to !== at) connection?.use({ ...source(), left: at })
    at = to
  })
  timer = window.setInterval(() => void refreshNodes().catch(() => {}), 15_000)
}

export function closeLive() {
  unfollow()
  connection?.close()
  connection = null
  live.value = false
  clearInterval(timer)
}

/** refreshNodes learns where to go when this node is lost. */
export async function refreshNodes() {
  learn(await get<NodeList>('/api/flagraft/v1/nodes/'))
  connection?.use(source())
}

function hear(n: News) {
  switch (n.kind) {
    case 'up':
      live.value = true
      break
    case 'down':
      live.value = false
      void refreshNodes().catch(() => {}) // finds the next node, and says so
      break
    case 'begun':
      changedAll(false)
      break
    case 'gap':
      changedAll(true)
      break
    case 'change': {
      // What this tab has just written it has read again already. The event may tell of more: of another tab, say, or what went with it.
      const own = ownWrite()
      const known = n.event.index === own.index && n.event.users.every(u => u === account) ? own.models : []
      const news = n.event.models.filter(m => !known.includes(m))
      // What one may see follows from rights, whatever table it lies in.
      if (news.some(m => rights.includes(m))) changedAll(false)
      else changed(news)
    }
  }
}
