import { useState } from 'preact/hooks'
import { write } from '../../api/write'
import { Field } from '../../parts/Field'
import { useForm } from '../../parts/useForm'

const empty = { current_password: '', new_password: '', re_new_password: '' }

/** Password sets a new one. */
export function Password() {
  const [draft, setDraft] = useState(empty)
  const form = useForm(async () => {
    await write('POST', '/api/v1/auth/users/set_password/', draft, { label: 'Password changed', models: [], quiet: true })
    setDraft(empty)
  })
  const field = (name: keyof typeof draft) => ({
    type: 'password' as const,
    required: true,
    value: draft[name],
    change: (value: string) => setDraft({ ...draft, [name]: value }),
    error: form.fields[name],
  })
  return (
    <form class="form" onSubmit={form.onSubmit}>
      <Field label="Present password" autocomplete="current-password" {...field('current_password')} />
      <div class="form-row">
        <Field label="New password" autocomplete="new-password" {...field('new_password')} />
        <Field label="Once more" autocomplete="new-password" {...field('re_new_password')} />
      </div>
      <p class="form-error" role="alert">
        {form.message}
      </p>
      <div>
        <button class="button" disabled={form.busy}>
          Change the password
        </button>
      </div>
    </form>
  )
}
