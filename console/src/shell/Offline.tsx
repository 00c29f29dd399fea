import { Door } from '../parts/Door'
import { start } from '../state/session'

/** Offline is shown when no node answered from the start. */
export function Offline() {
  return (
    <Door title="No node answers" text="The console is loaded, but no node of the cluster can be reached. Nothing that was acknowledged is lost.">
      <button type="button" class="button primary wide" onClick={() => void start()}>
        Try again
      </button>
    </Door>
  )
}
