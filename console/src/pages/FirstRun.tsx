import { useState } from 'preact/hooks'
import { Door } from '../parts/Door'
import { Field } from '../parts/Field'
import { useForm } from '../parts/useForm'
import { register } from '../state/session'

/** FirstRun makes the first account of an installation: its superuser. */
export function FirstRun() {
  const [account, setAccount] = useState({ first_name: '', last_name: '', email: '', password: '' })
  const form = useForm(() => register({ ...account, superuser: true }))
  const field = (name: keyof typeof account) => ({
    value: account[name],
    change: (value: string) => setAccount({ ...account, [name]: value }),
    error: form.fields[name],
    required: true,
  })
  return (
    <Door title="Welcome to flagraft" text="Nobody has an account here yet. The first one administers the installation.">
      <form class="form" onSubmit={form.onSubmit}>
        <div class="form-row">
          <Field label="First name" autocomplete="given-name" autofocus {...field('first_name')} />
          <Field label="Last name" autocomplete="family-name" {...field('last_name')} />
        </div>
        <Field label="E-mail address" type="email" autocomplete="username" {...field('email')} />
        <Field label="Password" type="password" autocomplete="new-password" {...field('password')} />
        <p class="form-error" role="alert">
          {form.message}
        </p>
        <button class="button primary wide" disabled={form.busy}>
          {form.busy ? 'Making the account…' : 'Make the first account'}
        </button>
      </form>
    </Door>
  )
}
