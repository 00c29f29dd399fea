import { Door } from '../parts/Door'
import { AccountForm } from './AccountForm'

/** FirstRun makes the first account of an installation: its superuser. */
export function FirstRun() {
  return (
    <Door title="Welcome to flagraft" text="Nobody has an account here yet. The first one administers the installation.">
      <AccountForm button="Make the first account" more={{ superuser: true }} />
    </Door>
  )
}
