import { useLocation } from 'preact-iso'
import { Door } from '../parts/Door'
import { installation } from '../state/session'
import { AccountForm } from './AccountForm'

/** Register makes an account, where anybody may. */
export function Register() {
  const { route } = useLocation()
  if (installation.value?.registration !== 'open') {
    return (
      <Door title="By invitation only" text="Somebody who is in already can invite you.">
        <a class="button wide" href="/">
          Back to the sign-in
        </a>
      </Door>
    )
  }
  return (
    <Door title="Make an account">
      <AccountForm button="Make the account" done={() => route('/')} />
      <a class="button ghost wide" href="/">
        I have one
      </a>
    </Door>
  )
}
