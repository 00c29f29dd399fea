import { Field } from './Field'
import { useDraft } from './useForm'

interface Props {
  label: string
  button: string
  make: (name: string) => Promise<unknown>
}

/** NewRow makes one more of a list, of which only the name must be known. */
export function NewRow({ label, button, make }: Props) {
  const { form, field, setDraft } = useDraft({ name: '' }, async ({ name }) => {
    await make(name)
    setDraft(d => (d.name === name ? { name: '' } : d)) // the next one may be typed already
  })
  return (
    <form class="inline-form new-row" onSubmit={form.onSubmit}>
      <Field label={label} autocomplete="off" required {...field('name')} error={form.fields.name ?? (form.message || undefined)} />
      <button class="button" disabled={form.busy}>
        {button}
      </button>
    </form>
  )
}
