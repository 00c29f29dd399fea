import { useState } from 'preact/hooks'
import { request } from '../api/request'
import { Door } from '../parts/Door'
import { Field } from '../parts/Field'
import { FormError } from '../parts/Form'
import { useForm } from '../parts/useForm'

/** ForgotPassword asks for a mail with a link to a new password. */
export function ForgotPassword() {
  const [email, setEmail] = useState('')
  const [sent, setSent] = useState(false)
  const form = useForm(async () => {
    await request('POST', '/api/v1/auth/users/reset_password/', { body: { email } })
    setSent(true)
  })
  if (sent) {
    return (
      <Door title="Look into your mail" text={`If ${email} has an account here, a link to a new password is on its way. It works once, for a day.`}>
        <a class="button wide" href="/">
          Back to the sign-in
        </a>
      </Door>
    )
  }
  return (
    <Door title="Forgotten your password?" text="We send you a link to a new one.">
      <form class="form" onSubmit={form.onSubmit}>
        <Field label="E-mail address" type="email" autocomplete="username" required autofocus value={email} change={setEmail} error={form.fields.email} />
        <FormError text={form.message} />
        <button class="button primary wide" disabled={form.busy}>
          Send the link
        </button>
        <a class="button ghost wide" href="/">
          Back
        </a>
      </form>
    </Door>
  )
}
