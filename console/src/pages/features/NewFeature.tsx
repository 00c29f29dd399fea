import { useState } from 'preact/hooks'
import { write } from '../../api/write'
import { Field } from '../../parts/Field'
import { FormDialog } from '../../parts/FormDialog'
import { useForm } from '../../parts/useForm'
import { featureModels } from './flag'

/** NewFeature makes a feature, in all environments of the project. */
export function NewFeature({ project, close }: { project: number; close: () => void }) {
  const [name, setName] = useState('')
  const [description, setDescription] = useState('')
  const [value, setValue] = useState('')
  const [on, setOn] = useState(false)
  const form = useForm(async () => {
    await write('POST', `/api/v1/projects/${project}/features/`,
      { name, description, default_enabled: on, ...(value === '' ? {} : { initial_value: value }) },
      { label: `${name} made`, models: featureModels, quiet: true })
  }, close)
  return (
    <FormDialog title="New feature" close={close} form={form} button="Make the feature">
      <Field label="Name" required autofocus autocomplete="off" spellcheck={false} class="input mono" value={name} change={setName} error={form.fields.name}
        hint="Programs ask for it by this name, so it never changes." />
      <Field label="Description" autocomplete="off" value={description} change={setDescription} error={form.fields.description} />
      <Field label="Value" lines autocomplete="off" spellcheck={false} class="input mono" value={value} change={setValue} error={form.fields.initial_value}
        hint="In every environment, until you change it there. May stay empty." />
      <label class="tick">
        <input type="checkbox" checked={on} onChange={e => setOn(e.currentTarget.checked)} />
        Switched on in every environment
      </label>
    </FormDialog>
  )
}
