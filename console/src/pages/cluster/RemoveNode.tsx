import { shortID } from '../../api/nodes'
import { write } from '../../api/write'
import { Confirm } from '../../parts/Confirm'
import { base, memberName, type Member } from './types'
import { clusterChanged } from './useCluster'

/** RemoveNode takes a member out of the cluster, after its id was typed. */
export function RemoveNode({ member: m, close }: { member: Member; close: () => void }) {
  const name = memberName(m)
  return (
    <Confirm
      title={`Remove ${name}?`}
      button="Remove the node"
      word={shortID(m.id)}
      close={close}
      run={() => write('DELETE', `${base}members/${m.id}/`, undefined, { label: `Node ${name} removed`, models: [], quiet: true }).finally(clusterChanged)}
    >
      It stops serving at once and stays out, also when it is started again. To bring it back, empty its data directory first: it comes back under a new id.
    </Confirm>
  )
}
