import { spawn, type ChildProcess } from 'node:child_process'
import { closeSync, mkdtempSync, openSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Node is a flagraft process. */
export interface Node {
  origin: string
  kill: () => Promise<void>
}

/** start starts a cluster of so many nodes; extra are further flags of all of them. */
export async function start(count: number, ...extra: string[]): Promise<Node[]> {
  const binary = process.env.FLAGRAFT_BINARY
  if (!binary) throw new Error('FLAGRAFT_BINARY names no binary')
  const folder = mkdtempSync(join(process.env.E2E_WORK ?? tmpdir(), 'console-'))
  const ports = await freePorts(count * 3)
  const cluster = ports.slice(count, 2 * count).map(p => `127.0.0.1:${p}`)
  const nodes = cluster.map((address, i) => {
    const log = openSync(join(folder, `node${i}.log`), 'w')
    const child = spawn(binary, [
      'serve', '--data-dir', join(folder, `node${i}`), '--api-addr', `127.0.0.1:${ports[i]}`, '--cluster-addr', address, '--gossip-addr', '',
      '--management-addr', `127.0.0.1:${ports[2 * count + i]}`, '--login-per-minute', '0', '--probe-interval', '0',
      ...(count > 1 ? ['--bootstrap-expect', String(count), '--join', cluster.join(',')] : []), ...extra,
    ], { stdio: ['ignore', log, log] })
    closeSync(log)
    return { origin: `http://127.0.0.1:${ports[i]}`, kill: () => end(child), child }
  })
  try {
    await Promise.all(nodes.map(n => ready(n.origin, n.child)))
  } catch (e) {
    await Promise.all(nodes.map(n => n.kill()))
    throw e
  }
  return nodes
}

/** run starts one more node with the command that the console shows, in a directory of its own. */
export async function run(command: string): Promise<Node> {
  const words = command.replaceAll('\\\n', ' ').split(/\s+/).map(w => (w === "''" ? '' : w))
  const [program, ...flags] = words
  if (program !== 'flagraft') throw new Error(`not a command of ours: ${command}`)
  const folder = mkdtempSync(join(process.env.E2E_WORK ?? tmpdir(), 'console-'))
  flags[flags.indexOf('--data-dir') + 1] = join(folder, 'node')
  const log = openSync(join(folder, 'node.log'), 'w')
  const child = spawn(process.env.FLAGRAFT_BINARY!, flags, { stdio: ['ignore', log, log] })
  closeSync(log)
  return { origin: `http://${flags[flags.indexOf('--api-addr') + 1]}`, kill: () => end(child) }
}

async function end(child: ChildProcess) {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = new Promise(done => child.once('exit', done))
  child.kill('SIGKILL')
  await gone
}

async function ready(origin: string, child: ChildProcess) {
  const until = Date.now() + 30_000
  while (Date.now() < until && child.exitCode === null) {
    const answer = await fetch(`${origin}/version/`).then(r => r.json() as Promise<{ self_hosted_data: unknown }>, () => null)
    const health = await fetch(`${origin}/health`).catch(() => null)
    if (answer && health?.ok) return
    await new Promise(done => setTimeout(done, 100))
  }
  throw new Error(`the node at ${origin} does not become ready`)
}

/** freePorts picks ports below those that the system gives to connections, one of which might have it before the node does. */
export async function freePorts(count: number): Promise<number[]> {
  const held: { port: number; server: ReturnType<typeof createServer> }[] = []
  while (held.length < count) {
    const port = 10_000 + Math.floor(Math.random() * 20_000)
    const server = createServer()
    const free = await new Promise<boolean>(done => server.once('error', () => done(false)).listen(port, '127.0.0.1', () => done(true)))
    if (free) held.push({ port, server })
  }
  await Promise.all(held.map(h => new Promise(done => h.server.close(done))))
  return held.map(h => h.port)
}
