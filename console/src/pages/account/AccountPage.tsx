import { useState } from 'preact/hooks'
import '../../styles/account.css'
import { request } from '../../api/request'
import type { User } from '../../api/types'
import { write } from '../../api/write'
import { Field } from '../../parts/Field'
import { Sheet } from '../../parts/Sheet'
import { useForm } from '../../parts/useForm'
import { me, signOut } from '../../state/session'
import { Password } from './Password'
import { SecondFactor } from './SecondFactor'

/** AccountPage is about who is signed in. */
export function AccountPage() {
  return (
    <div class="page">
      <h1>Account</h1>
      <p class="page-lead">{me.value!.email}</p>
      <Sheet title="Name">
        <Name />
      </Sheet>
      <Sheet title="Password">
        <Password />
      </Sheet>
      <SecondFactor />
      <Sheet
        title="Sessions"
        text="An account has one token, which all its browsers and programs use. Signing out everywhere ends it."
        actions={
          <>
            <button type="button" class="button" onClick={() => void signOut(false)}>
              Sign out here
            </button>
            <button type="button" class="button danger" onClick={() => void signOut(true)}>
              Sign out everywhere
            </button>
          </>
        }
      />
    </div>
  )
}

function Name() {
  const user = me.value!
  const [draft, setDraft] = useState({ first_name: user.first_name, last_name: user.last_name })
  const form = useForm(async () => {
    await write('PATCH', '/api/v1/auth/users/me/', draft, { label: 'Name saved', models: ['FFAdminUser'], quiet: true })
    me.value = (await request<User>('GET', '/api/v1/auth/users/me/')).data
  })
  const field = (name: keyof typeof draft) => ({ value: draft[name], change: (value: string) => setDraft({ ...draft, [name]: value }), error: form.fields[name], required: true })
  return (
    <form class="form" onSubmit={form.onSubmit}>
      <div class="form-row">
        <Field label="First name" autocomplete="given-name" {...field('first_name')} />
        <Field label="Last name" autocomplete="family-name" {...field('last_name')} />
      </div>
      <p class="form-error" role="alert">
        {form.message}
      </p>
      <div>
        <button class="button" disabled={form.busy}>
          Save
        </button>
      </div>
    </form>
  )
}
