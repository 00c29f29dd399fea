import { useState } from 'preact/hooks'
import '../../styles/cluster.css'
import { shortID } from '../../api/nodes'
import { Empty } from '../../parts/Empty'
import { Icon } from '../../parts/Icon'
import { AddNode } from './AddNode'
import { Backups } from './Backups'
import { NodeCard } from './NodeCard'
import { series, loads } from './series'
import { isLost, memberName, type ClusterStatus } from './types'
import { useCluster } from './useCluster'
import { useLoads } from './useLoads'

/** Cluster shows the nodes as they are now, and what can be done with them. */
export function Cluster() {
  const { data: cluster, error } = useCluster()
  const [adding, setAdding] = useState(false)
  useLoads()
  if (!cluster) return error ? <Empty icon="alert" title={error} /> : <div class="page" aria-busy="true" />
  const members = cluster.members.toSorted((a, b) => memberName(a).localeCompare(memberName(b), 'en', { numeric: true }))
  const lost = members.filter(m => isLost(m, loads.value.get(m.id)))
  return (
    <div class="page">
      <div class="page-head">
        <div>
          <h1>Cluster</h1>
          <p class="page-lead">{describe(cluster)}</p>
        </div>
        <button type="button" class="button primary" onClick={() => setAdding(true)}>
          <Icon name="plus" size={16} /> Add a node
        </button>
      </div>
      <div aria-live="polite">
        {lost.map(m => (
          <p key={m.id} class="warning bad">
            <Icon name="alert" />
            <span>
              Node <strong>{memberName(m)}</strong> ({shortID(m.id)}) is lost.
            </span>
          </p>
        ))}
        {cluster.leader === null && (
          <p class="warning bad">
            <Icon name="alert" /> There is no leader: flags are served, but nothing can be changed until a majority of the voters runs.
          </p>
        )}
      </div>
      <ul class="nodes">
        {members.map(m => (
          <li key={m.id}>
            <NodeCard member={m} cluster={cluster} load={loads.value.get(m.id)} points={series.value.get(m.id) ?? []} />
          </li>
        ))}
      </ul>
      <Backups />
      {adding && <AddNode cluster={cluster} close={() => setAdding(false)} />}
    </div>
  )
}

function describe(c: ClusterStatus): string {
  const nodes = c.members.length === 1 ? 'One node' : `${c.members.length} nodes`
  const at = `term ${c.term}, index ${c.commit_index}`
  if (c.failure_tolerance === null) return `${nodes}, ${at}. What the leader knows of their health is not known here.`
  const stands = c.failure_tolerance === 0 ? 'no voter may fail' : c.failure_tolerance === 1 ? 'one voter may fail' : `${c.failure_tolerance} voters may fail`
  return `${nodes}, ${c.healthy ? 'all healthy' : 'not all healthy'}, ${stands}; ${at}.`
}
