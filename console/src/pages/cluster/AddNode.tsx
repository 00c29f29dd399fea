import { useRef, useState } from 'preact/hooks'
import { shortID } from '../../api/nodes'
import { CopyButton } from '../../parts/CopyButton'
import { Dialog } from '../../parts/Dialog'
import { Icon } from '../../parts/Icon'
import { memberName, type ClusterStatus } from './types'

/** AddNode shows what to run on the new machine, and waits until the node is there. */
export function AddNode({ cluster, close }: { cluster: ClusterStatus; close: () => void }) {
  const before = useRef(new Set(cluster.members.map(m => m.id)))
  const [replica, setReplica] = useState(false)
  const came = cluster.members.filter(m => !before.current.has(m.id))
  const here = cluster.members.every(m => /^(127\.|localhost|\[::1\])/.test(m.address))
  const command = commandFor(cluster, replica, here)
  return (
    <Dialog title="Add a node" close={close}>
      <div class="form">
        <p>
          {here
            ? 'All nodes run on this machine, so the new one takes ports of its own. Run, in another terminal:'
            : 'Install the same version on the new machine and run there, with its own addresses:'}
        </p>
        <div class="code-box">
          <div class="code" tabIndex={0} role="region" aria-label="Command">
            <pre>{command}</pre>
          </div>
          <CopyButton text={command} label="Copy the command" />
        </div>
        <label class="tick">
          <input type="checkbox" checked={replica} onChange={e => setReplica(e.currentTarget.checked)} />
          A read replica: never gets a vote
        </label>
        {!here && <p class="muted">It needs the secret of the cluster (FLAGRAFT_CLUSTER_SECRET) or its certificates, as the other nodes have them.</p>}
        <div role="status" class="waiting">
          {came.length === 0 && (
            <>
              <span class="spinner" /> Waiting for the node…
            </>
          )}
          {came.map(m => (
            <p key={m.id} class="once">
              <span class="mark">
                <Icon name="check" /> {memberName(m)} ({shortID(m.id)}) is a member{m.ready ? ' and ready' : ', and catches up'}.
              </span>
              {m.role === 'non-voter' && <span class="muted">It gets its vote once it was healthy for ten seconds.</span>}
            </p>
          ))}
        </div>
        <div class="actions">
          <button type="button" class="button" onClick={close}>
            {came.length > 0 ? 'Done' : 'Close'}
          </button>
        </div>
      </div>
    </Dialog>
  )
}

/** commandFor is for a shell. On one machine the ports follow those of the node that has the highest. */
function commandFor(c: ClusterStatus, replica: boolean, here: boolean): string {
  const join = c.members.map(m => m.address).join(',')
  const lines = ['flagraft serve']
  if (here) {
    const port = Math.max(...c.members.flatMap(m => [portOf(m.api), portOf(m.address)])) + 10
    lines.push(`--data-dir data/node-${port}`, `--api-addr 127.0.0.1:${port}`, `--cluster-addr 127.0.0.1:${port + 1}`, `--gossip-addr ''`, `--management-addr 127.0.0.1:${port + 3}`)
  } else {
    lines.push('--data-dir /var/lib/flagraft', `--cluster-addr 0.0.0.0:${portOf(c.members[0]!.address)}`)
  }
  lines.push(`--join ${join}`)
  if (replica) lines.push('--non-voter')
  return lines.join(' \\\n  ')
}

const portOf = (address: string) => Number(address.slice(address.lastIndexOf(':') + 1)) || 0
