import '../../styles/account.css'
import { request } from '../../api/request'
import type { User } from '../../api/types'
import { write } from '../../api/write'
import { Field } from '../../parts/Field'
import { Form } from '../../parts/Form'
import { Sheet } from '../../parts/Sheet'
import { useDraft } from '../../parts/useForm'
import { me, signOut, signOutEverywhere } from '../../state/session'
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
        text="An account has one token, which all its browsers and scripts use. Signing out everywhere ends it. Programs that you let in on a page of their own (OAuth) stay until you change the password."
        actions={
          <>
            <button type="button" class="button" onClick={() => signOut()}>
              Sign out here
            </button>
            <button type="button" class="button danger" onClick={() => void signOutEverywhere()}>
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
  const { form, field } = useDraft({ first_name: user.first_name, last_name: user.last_name }, async draft => {
    await write('PATCH', '/api/v1/auth/users/me/', draft, { label: 'Name saved', models: ['FFAdminUser'], quiet: true })
    me.value = (await request<User>('GET', '/api/v1/auth/users/me/')).data
  })
  return (
    <Form form={form} button="Save">
      <div class="form-row">
        <Field label="First name" autocomplete="given-name" required {...field('first_name')} />
        <Field label="Last name" autocomplete="family-name" required {...field('last_name')} />
      </div>
    </Form>
  )
}
