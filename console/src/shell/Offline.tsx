import { offline } from '../api/nodes'
import { Door } from '../parts/Door'
import { start, trouble } from '../state/session'

/** Offline is shown when no node answered from the start, or none could tell who is signed in. */
export function Offline() {
  const [title, text] = offline.value
    ? ['No node answers', 'The console is loaded, but no node of the cluster can be reached. Nothing that was acknowledged is lost.']
    : ['Not ready', `You are still signed in, but the cluster could not let you in: ${trouble.value}`]
  return (
    <Door title={title!} text={text!}>
      <button type="button" class="button primary wide" onClick={() => void start()}>
        Try again
      </button>
    </Door>
  )
}
