// What the JavaScript programs share: cases, the environment, admin changes.
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

const env = name => process.env['FLAGRAFT_' + name] ?? ''

export const world = {
  api: env('API'), origin: env('ORIGIN'), nodes: env('NODES').split(' '), realtime: env('REALTIME'),
  clientKey: env('CLIENT_KEY'), serverKey: env('SERVER_KEY'), token: env('TOKEN'), live: env('LIVE'), project: env('PROJECT'),
}

const count = { passed: 0, failed: 0 }

// check runs one case; a rejected promise or a thrown error fails it.
export async function check(name, body) {
  try {
    await body()
    count.passed++
    console.log(`ok ${name}`)
  } catch (e) {
    count.failed++
    const cause = e?.cause ? ` (${e.cause.message ?? e.cause})` : ''
    console.log(`FAIL ${name}: ${String(e?.message ?? e).replaceAll('\n', ' ').slice(0, 400)}${cause}`)
  }
}

// done prints the result and ends the process.
export function done() {
  console.log(`${count.passed} passed, ${count.failed} failed`)
  process.exit(count.failed ? 1 : 0)
}

// admin sends a request as the administrator, to this client's node.
export async function admin(method, path, body) {
  const answer = await fetch(world.api + path, {
    method, body: body && JSON.stringify(body),
    headers: { Authorization: `Token ${world.token}`, 'Content-Type': 'application/json' },
  })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text.slice(0, 300)}`)
  return text ? JSON.parse(text) : null
}

// follower is the API of a node that does not lead.
export async function follower() {
  for (const origin of world.nodes) {
    const answer = await fetch(`${origin}/api/flagraft/v1/cluster/`, { headers: { Authorization: `Token ${world.token}` } })
    const { leader } = await answer.json()
    if (leader && answer.headers.get('Flagraft-Node') !== leader) return `${origin}/api/v1/`
  }
  throw new Error('no follower')
}

// setLive changes the flag `live`.
export const setLive = (enabled, value) =>
  admin('PATCH', `environments/${world.clientKey}/featurestates/${world.live}/`, { enabled, feature_state_value: value })

// identities reads those for whom evaluations are compared.
export const identities = () => JSON.parse(readFileSync(env('IDENTITIES'), 'utf8'))

// eventually waits until ok returns something true.
export async function eventually(what, ok, ms = 15000) {
  for (const end = Date.now() + ms; Date.now() < end; await sleep(50)) {
    if (await ok()) return
  }
  throw new Error(`not within ${ms} ms: ${what}`)
}

// unique makes identifiers that no other run has used.
export const unique = (name => n => `${name}-${n}`)(`run-${Date.now().toString(36)}-${process.pid}`)
