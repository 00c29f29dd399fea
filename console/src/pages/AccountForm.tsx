import { useState } from 'preact/hooks'
import { Field } from '../parts/Field'
import { useForm } from '../parts/useForm'
import { register, type Registration } from '../state/session'

interface Props {
  button: string
  /** What is sent beside the fields. */
  more?: Partial<Registration>
  done?: () => void
}

/** AccountForm makes an account and signs it in. */
export function AccountForm({ button, more, done }: Props) {
  const [account, setAccount] = useState({ first_name: '', last_name: '', email: '', password: '' })
  const form = useForm(async () => {
    await register({ ...account, ...more })
    done?.()
  })
  const field = (name: keyof typeof account) => ({
    value: account[name],
    change: (value: string) => setAccount({ ...account, [name]: value }),
    error: form.fields[name],
    required: true,
  })
  return (
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
        {form.busy ? 'One moment…' : button}
      </button>
    </form>
  )
}
