import { useState } from 'preact/hooks'
import { answeredBy, shortID } from '../../api/nodes'
import { write } from '../../api/write'
import { bytes, count, duration, rate } from '../../parts/amount'
import { Confirm } from '../../parts/Confirm'
import { CopyButton } from '../../parts/CopyButton'
import { Spark } from '../../parts/Spark'
import { ago } from '../../parts/time'
import { RemoveNode } from './RemoveNode'
import type { Point } from './series'
import { base, isLost, memberName, type ClusterStatus, type Load, type Member } from './types'
import { clusterChanged } from './useCluster'

interface Props {
  member: Member
  cluster: ClusterStatus
  load: Load | undefined
  points: Point[]
}

/** NodeCard is one node: what it is, how it is, and how busy. */
export function NodeCard({ member: m, cluster, load, points }: Props) {
  const [asking, setAsking] = useState<'remove' | 'lead' | null>(null)
  const name = memberName(m)
  const close = () => setAsking(null)
  return (
    <article class="node" aria-label={`Node ${name}`}>
      <header class="node-head">
        <div class="node-name">
          <h2>{name}</h2>
          <span class="muted mono">{shortID(m.id)}</span>
          <CopyButton text={m.id} label="Copy the id of the node" />
        </div>
        <Health member={m} load={load} />
      </header>
      <dl class="node-facts">
        <Fact name="Role">{roles[m.role]}</Fact>
        <Fact name="Behind">{behind(m, cluster)}</Fact>
        <Fact name="Version">{m.version}</Fact>
        <Fact name="Started">{load && !load.error ? ago(load.started) : '–'}</Fact>
        <Fact name="Last heard">{m.id === cluster.leader ? 'leads' : m.last_contact ? ago(m.last_contact) : 'never'}</Fact>
        <Fact name="Identities">{load && !load.error ? count(load.identities) : '–'}</Fact>
        <Fact name="Connections">{load && !load.error ? `${count(load.connections)} and ${count(load.streams)} streams` : '–'}</Fact>
        <Fact name="Snapshot">{load && !load.error ? (load.snapshot_index === 0 ? 'none yet' : `${bytes(load.snapshot_bytes)} at ${count(load.snapshot_index)}`) : '–'}</Fact>
      </dl>
      {!load?.error && <Gauges load={load} points={points} />}
      {load?.error && <p class="muted">It does not tell how busy it is: {load.error}</p>}
      <footer class="node-foot">
        {m.id === answeredBy.value && <span class="muted">This page asks it</span>}
        {m.role === 'voter' && m.healthy && (
          <button type="button" class="button small" onClick={() => setAsking('lead')}>
            Make it the leader
          </button>
        )}
        {cluster.members.length > 1 && (
          <button type="button" class="button small danger" onClick={() => setAsking('remove')}>
            Remove…
          </button>
        )}
      </footer>
      {asking === 'remove' && <RemoveNode member={m} close={close} />}
      {asking === 'lead' && (
        <Confirm
          title={`Hand leadership over to ${name}?`}
          button="Hand over"
          close={close}
          run={() => write('POST', `${base}transfer/`, { node: m.id }, { label: `${name} leads`, models: [], quiet: true }).finally(clusterChanged)}
        >
          Writes wait for a moment. Flags are served all the time.
        </Confirm>
      )}
    </article>
  )
}

const roles = { leader: 'Leader', voter: 'Voter', 'non-voter': 'Not a voter yet', 'read-replica': 'Read replica' }

function Health({ member: m, load }: { member: Member; load: Load | undefined }) {
  const [dot, text] = isLost(m, load)
    ? ['bad', 'Lost']
    : m.draining
      ? ['warn', 'Stopping']
      : !m.ready
        ? ['warn', 'Not ready']
        : m.healthy === null
          ? ['', 'Health not known']
          : ['ok', m.role === 'leader' ? 'Healthy leader' : 'Healthy']
  return (
    <span class={`mark ${dot}`}>
      <span class={`dot ${dot}`} /> {text}
    </span>
  )
}

function behind(m: Member, c: ClusterStatus): string {
  const n = Math.max(0, c.commit_index - m.applied_index)
  return n === 0 ? 'nothing' : `${count(n)} ${n === 1 ? 'entry' : 'entries'}`
}

function Fact({ name, children }: { name: string; children: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}

/** Gauges are the charts. The numbers beside them are the newest ones; until the first come, the charts keep their place. */
function Gauges({ load: l, points }: { load: Load | undefined; points: Point[] }) {
  const last = points.at(-1)
  const times = points.map(p => (Number.isNaN(p.slow) ? 0 : p.slow))
  return (
    <div class="gauges">
      <Gauge name="Requests" value={last ? rate(last.requests) : '…'} note={last && last.failures > 0 ? `${rate(last.failures)} fail` : ''} values={points.map(p => p.requests)} />
      <Gauge name="Latency, 99 of 100" value={last ? (Number.isNaN(last.slow) ? '–' : duration(last.slow)) : '…'} note={last ? (Number.isNaN(last.median) ? 'no requests' : `half within ${duration(last.median)}`) : ''} values={times} />
      <Gauge
        name="Memory"
        value={l ? bytes(l.memory_bytes) : '…'}
        note={!l ? '' : l.memory_limit_bytes ? `of ${bytes(l.memory_limit_bytes)}` : 'no limit'}
        values={points.map(p => p.memory)}
        top={l?.memory_limit_bytes || undefined}
      />
      <Gauge
        name="Disk"
        value={l ? `${bytes(l.disk_free_bytes)} free` : '…'}
        note={l ? `${Math.round((100 * (l.disk_total_bytes - l.disk_free_bytes)) / l.disk_total_bytes)} % used` : ''}
        values={points.map(p => p.disk)}
        top={l?.disk_total_bytes}
        alarm={l !== undefined && l.disk_free_bytes < l.disk_min_free_bytes}
      />
    </div>
  )
}

interface GaugeProps {
  name: string
  value: string
  note: string
  values: number[]
  top?: number | undefined
  alarm?: boolean
}

function Gauge({ name, value, note, values, top, alarm = false }: GaugeProps) {
  return (
    <div class={`gauge ${alarm ? 'alarm' : ''}`}>
      <span class="gauge-name">{name}</span>
      <strong>{value}</strong>
      <span class="gauge-note">{note || '\u00a0'}</span>
      <Spark label={`${name} in the last two minutes, now ${value}`} values={values} top={top} />
    </div>
  )
}
