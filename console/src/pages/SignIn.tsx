import { Door } from '../parts/Door'
import { installation, notice } from '../state/session'
import { SignInForm } from './SignInForm'

/** SignIn is the usual way in. */
export function SignIn() {
  return (
    <Door title="Sign in to flagraft">
      {notice.value && <p class="note">{notice.value}</p>}
      <SignInForm />
      <p class="door-links">
        <a href="/password-reset">Forgotten your password?</a>
        {installation.value?.registration === 'open' && <a href="/register">Make an account</a>}
      </p>
    </Door>
  )
}
