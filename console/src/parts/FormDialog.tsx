import type { ComponentChildren } from 'preact'
import { Dialog } from './Dialog'
import { FormError } from './Form'
import { Overtaken } from './Overtaken'
import type { Submission } from './useForm'

interface Props {
  title: string
  close: () => void
  form: Submission
  /** What sends the form. */
  button: string
  /** There is nothing yet that could be sent. */
  incomplete?: boolean
  /** Instead of form.message. */
  message?: string | undefined
  /** Buttons before Cancel. */
  more?: ComponentChildren
  children: ComponentChildren
}

/** FormDialog asks for something new, or for what shall change, in a dialog. */
export function FormDialog({ title, close, form, button, incomplete = false, message = form.message, more, children }: Props) {
  return (
    <Dialog title={title} close={close}>
      <form class="form" onSubmit={form.onSubmit}>
        {children}
        <Overtaken back={form.overtaken} />
        <FormError text={message} />
        <div class="actions">
          {more}
          <button type="button" class="button" onClick={close}>
            Cancel
          </button>
          <button class="button primary" disabled={form.busy || incomplete}>
            {button}
          </button>
        </div>
      </form>
    </Dialog>
  )
}
