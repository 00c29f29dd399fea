import { write } from '../../api/write'
import { Field } from '../../parts/Field'
import { Form } from '../../parts/Form'
import { useDraft } from '../../parts/useForm'

const empty = { current_password: '', new_password: '', re_new_password: '' }

/** Password sets a new one. */
export function Password() {
  const { form, field, setDraft } = useDraft(empty, async draft => {
    await write('POST', '/api/v1/auth/users/set_password/', draft, { label: 'Password changed', models: [], quiet: true })
    setDraft(empty)
  })
  const common = { type: 'password', required: true } as const
  return (
    <Form form={form} button="Change the password">
      <Field label="Present password" autocomplete="current-password" {...common} {...field('current_password')} />
      <div class="form-row">
        <Field label="New password" autocomplete="new-password" {...common} {...field('new_password')} />
        <Field label="Once more" autocomplete="new-password" {...common} {...field('re_new_password')} />
      </div>
    </Form>
  )
}
