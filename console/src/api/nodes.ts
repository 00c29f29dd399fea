import { signal } from '@preact/signals'

/** Node is a member of the cluster as nodes/ lists it. */
export interface Node {
  id: string
  url: string
  ready: boolean
}

export interface NodeList {
  node: string
  leader: string | null
  nodes: Node[]
}

/** Where requests go. It begins with the node that served this page and moves on when that is lost. */
export const origin = signal(location.origin)

/** The nodes, as last told. */
export const nodes = signal<Node[]>([])
export const leader = signal<string | null>(null)

/** The id of the node that answered last. */
export const answeredBy = signal('')

/** The node that was lost, while we go on with another one. */
export const lost = signal<string | null>(null)

/** Whether no node answers. */
export const offline = signal(false)

/** candidates are the origins to try, the present one first, the page's own among them: it may be back, or be a balancer. */
export function candidates(): string[] {
  const ready = nodes.value.filter(n => n.ready && n.url !== '').map(n => n.url)
  const rest = nodes.value.filter(n => !n.ready && n.url !== '').map(n => n.url)
  return [...new Set([origin.value, location.origin, ...ready, ...rest])]
}

/** moved notes that another origin answered than the one asked first. */
export function moved(to: string) {
  if (to === origin.value) return
  lost.value = nodeName(origin.value)
  origin.value = to
}

/** nodeName is how people tell nodes apart: host and port. */
export const nodeName = (url: string) => new URL(url).host

/** shortID is the beginning of a node's id, as logs show it. */
export const shortID = (id: string) => id.slice(0, 8)

export function learn(list: NodeList) {
  nodes.value = list.nodes
  leader.value = list.leader
}
