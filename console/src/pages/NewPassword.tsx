import { useLocation } from 'preact-iso'
import { useState } from 'preact/hooks'
import { request } from '../api/request'
import { Door } from '../parts/Door'
import { Field } from '../parts/Field'
import { FormError } from '../parts/Form'
import { useForm } from '../parts/useForm'
import { leave } from '../state/session'

/** NewPassword is where the mail leads that ForgotPassword asks for. */
export function NewPassword({ uid, token }: { uid: string; token: string }) {
  const { route } = useLocation()
  const [password, setPassword] = useState('')
  const [again, setAgain] = useState('')
  const form = useForm(async () => {
    await request('POST', '/api/v1/auth/users/reset_password_confirm/', { body: { uid, token, new_password: password, re_new_password: again } })
    leave('Your new password is set. Please sign in with it.')
    route('/')
  })
  const other = form.message || form.fields.token || form.fields.uid
  return (
    <Door title="Set a new password">
      <form class="form" onSubmit={form.onSubmit}>
        <Field label="New password" type="password" autocomplete="new-password" required autofocus value={password} change={setPassword} error={form.fields.new_password} />
        <Field label="The same again" type="password" autocomplete="new-password" required value={again} change={setAgain} error={form.fields.re_new_password} />
        <FormError text={other} />
        <button class="button primary wide" disabled={form.busy}>
          Set the password
        </button>
      </form>
    </Door>
  )
}
