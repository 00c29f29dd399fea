import { useState } from 'preact/hooks'
import { Field } from '../parts/Field'
import { FormError } from '../parts/Form'
import { useForm } from '../parts/useForm'
import { secondStep, signIn, type SecondStep } from '../state/session'

/** SignInForm asks for the password, and for a code when the account has a second factor. */
export function SignInForm() {
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
    <form class="form" onSubmit={form.onSubmit}>
      <Field label="E-mail address" type="email" autocomplete="username" required autofocus value={email} change={setEmail} error={form.fields.email} />
      <Field label="Password" type="password" autocomplete="current-password" required value={password} change={setPassword} error={form.fields.password} />
      <label class="tick">
        <input type="checkbox" checked={stay} onChange={e => setStay(e.currentTarget.checked)} />
        Stay signed in on this browser
      </label>
      <FormError text={form.message} />
      <button class="button primary wide" disabled={form.busy}>
        {form.busy ? 'Signing in…' : 'Sign in'}
      </button>
    </form>
  )
}

function Code({ step, stay, back }: { step: SecondStep; stay: boolean; back: () => void }) {
  const [code, setCode] = useState('')
  const form = useForm(() => secondStep(step, code.trim(), stay))
  return (
    <form class="form" onSubmit={form.onSubmit}>
      <Field label="Code" autocomplete="one-time-code" required autofocus value={code} change={setCode} error={form.fields.code}
        hint="From your authenticator app, or a backup code." />
      <FormError text={form.message} />
      <button class="button primary wide" disabled={form.busy}>
        {form.busy ? 'Checking…' : 'Continue'}
      </button>
      <button type="button" class="button ghost wide" onClick={back}>
        Back
      </button>
    </form>
  )
}
