// Official Python, Node and JavaScript clients on all nodes, with local and remote evaluation, while an older backup is restored: each must show
// the restored state within 5 s.
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { Flagsmith } from 'flagsmith-nodejs'
import { createFlagsmithInstance } from '@flagsmith/flagsmith/isomorphic'
import { check, done, world, admin, setLive, eventually } from '../lib/check.mjs'

const limit = 5000 // ms, from the request of the switch to the last client
const silent = Object.assign(() => {}, { error() {}, warn() {}, info() {}, debug() {} })
const run = Date.now().toString(36)
const extra = `after_restore_${run}`
const seen = new Map() // client → { state, at }
const show = (name, state) => {
  if (seen.get(name)?.state !== state) seen.set(name, { state, at: performance.now() })
}
const stateOf = all => {
  const names = Object.keys(all).filter(n => n.startsWith('after_restore')).sort()
  return `${all.live}|[${names.map(n => `'${n}'`).join(', ')}]`
}
let watching = true

// watch asks a client again and again what it shows.
async function watch(name, ask, pause) {
  for (; watching; await sleep(pause)) {
    try {
      show(name, stateOf(await ask()))
    } catch (e) {
      show(name, `error ${e.message}`)
    }
  }
}

const byName = flags => Object.fromEntries(flags.allFlags().map(f => [f.featureName, f.value]))
const clients = [], watchers = []
for (const [i, origin] of world.nodes.entries()) {
  const apiUrl = `${origin}/api/v1/`
  const remote = new Flagsmith({ environmentKey: world.clientKey, apiUrl, retries: 0, logger: silent })
  const local = new Flagsmith({ environmentKey: world.serverKey, apiUrl, enableLocalEvaluation: true, environmentRefreshIntervalSeconds: 0.5, logger: silent })
  clients.push(local)
  watchers.push(watch(`node remote, node ${i}`, async () => byName(await remote.getIdentityFlags('restore-watcher', { plan: 'gold' }, true)), 300))
  watchers.push(watch(`node local polling, node ${i}`, async () => byName(await local.getEnvironmentFlags()), 30))
  const js = createFlagsmithInstance()
  await js.init({ environmentID: world.clientKey, api: apiUrl })
  js.startListening(500)
  clients.push({ close: () => js.stopListening() })
  watchers.push(watch(`javascript polling, node ${i}`, async () =>
    Object.fromEntries(Object.entries(js.getAllFlags()).map(([n, f]) => [n, f.value])), 30))
}
const python = spawn('venv/bin/python', ['-W', 'ignore', 'watch.py'], { stdio: ['ignore', 'pipe', 'inherit'] })
createInterface({ input: python.stdout }).on('line', line => show(...line.split('\t')))

const streams = process.env.FLAGRAFT_STREAMS === 'true'
const expected = world.nodes.length * (streams ? 6 : 5)
const all = state => seen.size === expected && [...seen.values()].every(s => s.state === state)
const missing = state => [...seen].filter(([, s]) => s.state !== state).map(([n, s]) => `${n}: ${s.state}`).join('; ') || `${seen.size} of ${expected} clients`
async function shownByAll(what, state, ms) {
  for (const end = performance.now() + ms; performance.now() < end; await sleep(20)) if (all(state)) return
  throw new Error(`not within ${ms} ms, ${what}: ${missing(state)}`)
}

async function raw(method, origin, path, body) {
  const answer = await fetch(origin + path, { method, body, headers: { Authorization: `Token ${world.token}` } })
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${(await answer.text()).slice(0, 300)}`)
  return answer
}

// restore sends a backup through one node and returns when the switch was asked for.
async function restore(origin, backup) {
  const base = `/api/flagraft/v1/restores/${randomUUID()}/`
  for (let at = 0; at < backup.length; at += 512 << 10) {
    await raw('PUT', origin, `${base}parts/${at}/?force=true`, backup.subarray(at, at + (512 << 10)))
  }
  const began = performance.now()
  await raw('POST', origin, `${base}apply/?force=true&bytes=${backup.length}`)
  return began
}

for (let round = 0; round < world.nodes.length; round++) {
  await check(`an older backup reaches every client, restored through node ${round}`, async () => {
    const before = `before ${run} ${round}`, after = `after ${run} ${round}`
    await setLive(true, before)
    await shownByAll('the state to be saved', `${before}|[]`, 20000)
    const from = world.nodes[(round + 1) % world.nodes.length]
    const backup = Buffer.from(await (await raw('GET', from, '/api/flagraft/v1/backup/')).arrayBuffer())
    await setLive(true, after)
    const feature = await admin('POST', `projects/${world.project}/features/`, { name: extra, default_enabled: true, initial_value: 'x' })
    await shownByAll('the state to be removed', `${after}|['${extra}']`, 20000)
    const began = await restore(world.nodes[round], backup)
    await shownByAll('the restored state', `${before}|[]`, limit)
    const took = [...seen].map(([name, s]) => [Math.round(s.at - began), name]).sort((a, b) => a[0] - b[0])
    console.log(`# round ${round}: ${seen.size} clients, backup of ${backup.length} bytes; first ${took[0][0]} ms (${took[0][1]}), ` +
      `median ${took[took.length >> 1][0]} ms, last ${took.at(-1)[0]} ms (${took.at(-1)[1]})`)
    if (took.at(-1)[0] > limit) throw new Error(`the last client took ${took.at(-1)[0]} ms`)
    await eventually('the removed feature is gone everywhere', async () => {
      const answers = await Promise.all(world.nodes.map(n => fetch(`${n}/api/v1/projects/${world.project}/features/${feature.id}/`,
        { headers: { Authorization: `Token ${world.token}` } })))
      return answers.every(a => a.status === 404)
    })
  })
}
await check('writes go on after it, and reach every client', async () => {
  await setLive(true, `on ${run}`)
  await shownByAll('a write after the restore', `on ${run}|[]`, 20000)
})
watching = false
python.kill()
await Promise.all(watchers)
for (const c of clients) await c.close()
done()
