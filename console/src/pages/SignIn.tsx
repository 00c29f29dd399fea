import { useState } from 'preact/hooks'
import { Door } from '../parts/Door'
import { Field } from '../parts/Field'
import { useForm } from '../parts/useForm'
import { notice, secondStep, signIn, type SecondStep } from '../state/session'

/** SignIn asks for the password, and for a code when the account has a second factor. */
export function SignIn() {
  const [step, setStep] = useState<SecondStep | null>(null)
  const [stay, setStay] = useState(true)
  if (step) return <Code step={step} stay={stay} back={() => setStep(null)} />
  return <Password stay={stay} setStay={setStay} next={setStep} />
}

function Password({ stay, setStay, next }: { stay: boolean; setStay: (stay: boolean) => void; next: (step: SecondStep) => void }) {
  const [email, setEmail] = useState('')
  const [password, setPassword] = useState('')
  const form = useForm(async () => {
    const step = await signIn(email, password, stay)
    if (step) next(step)
  })
  return (
    <Door title="Sign in to flagraft">
      <form class="form" onSubmit={form.onSubmit}>
        {notice.value && <p class="note">{notice.value}</p>}
        <Field label="E-mail address" type="email" autocomplete="username" required autofocus value={email} change={setEmail} error={form.fields.email} />
        <Field label="Password" type="password" autocomplete="current-password" required value={password} change={setPassword} error={form.fields.password} />
        <label class="tick">
          <input type="checkbox" checked={stay} onChange={e => setStay(e.currentTarget.checked)} />
          Stay signed in on this browser
        </label>
        <p class="form-error" role="alert">
          {form.message}
        </p>
        <button class="button primary wide" disabled={form.busy}>
          {form.busy ? 'Signing in…' : 'Sign in'}
        </button>
      </form>
    </Door>
  )
}

function Code({ step, stay, back }: { step: SecondStep; stay: boolean; back: () => void }) {
  const [code, setCode] = useState('')
  const form = useForm(() => secondStep(step, code.trim(), stay))
  return (
    <Door title="Second factor" text="Enter the code that your authenticator app shows, or a backup code.">
      <form class="form" onSubmit={form.onSubmit}>
        <Field label="Code" autocomplete="one-time-code" required autofocus value={code} change={setCode} error={form.fields.code} />
        <p class="form-error" role="alert">
          {form.message}
        </p>
        <button class="button primary wide" disabled={form.busy}>
          {form.busy ? 'Checking…' : 'Continue'}
        </button>
        <button type="button" class="button ghost wide" onClick={back}>
          Back
        </button>
      </form>
    </Door>
  )
}
