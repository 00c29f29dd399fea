import { Field } from '../parts/Field'
import { FormError } from '../parts/Form'
import { useDraft } from '../parts/useForm'
import { register, type Registration } from '../state/session'

interface Props {
  button: string
  /** What is sent beside the fields. */
  more?: Partial<Registration>
  done?: () => void
}

/** AccountForm makes an account and signs it in. */
export function AccountForm({ button, more, done }: Props) {
  const { form, field } = useDraft({ first_name: '', last_name: '', email: '', password: '' }, async account => {
    await register({ ...account, ...more })
    done?.()
  })
  return (
    <form class="form" onSubmit={form.onSubmit}>
      <div class="form-row">
        <Field label="First name" autocomplete="given-name" autofocus required {...field('first_name')} />
        <Field label="Last name" autocomplete="family-name" required {...field('last_name')} />
      </div>
      <Field label="E-mail address" type="email" autocomplete="username" required {...field('email')} />
      <Field label="Password" type="password" autocomplete="new-password" required {...field('password')} />
      <FormError text={form.message} />
      <button class="button primary wide" disabled={form.busy}>
        {form.busy ? 'One moment…' : button}
      </button>
    </form>
  )
}
