import type { ComponentChildren } from 'preact'
import { Overtaken } from './Overtaken'
import type { Submission } from './useForm'

interface Props {
  form: Submission
  button: string
  children: ComponentChildren
}

/** Form is a form in a Sheet: its fields, what the server said, and the button that sends it. In a dialog it is FormDialog. */
export function Form({ form, button, children }: Props) {
  return (
    <form class="form" onSubmit={form.onSubmit}>
      {children}
      <Overtaken back={form.overtaken} />
      <FormError text={form.message} />
      <div>
        <button class="button" disabled={form.busy}>
          {button}
        </button>
      </div>
    </form>
  )
}

/** FormError is what the server said of a form, apart from its fields. */
export function FormError({ text }: { text: string | undefined }) {
  return (
    <p class="form-error" role="alert">
      {text}
    </p>
  )
}
