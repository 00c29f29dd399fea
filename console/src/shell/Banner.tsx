import { lost, nodeName, offline, origin } from '../api/nodes'
import { Icon } from '../parts/Icon'

/** Banner tells when a node was lost. */
export function Banner() {
  if (offline.value) {
    return (
      <p class="banner danger" role="alert">
        <Icon name="alert" /> No node can be reached. We keep trying; what you see may be old.
      </p>
    )
  }
  if (lost.value === null) return null
  return (
    <p class="banner" role="alert">
      <Icon name="alert" />
      <span>
        Node <strong>{lost.value}</strong> lost, going on with <strong>{nodeName(origin.value)}</strong>.
      </span>
      <button type="button" class="button small" onClick={() => (lost.value = null)}>
        Understood
      </button>
    </p>
  )
}
