import { useRef, useState } from 'preact/hooks'
import { Field } from '../../parts/Field'
import { FormDialog } from '../../parts/FormDialog'
import { Select } from '../../parts/Select'
import { useForm } from '../../parts/useForm'
import type { Person } from './identity'
import { inputOf, literal, removeTrait, saveTrait, types, valueOf, type Trait, type Value } from './trait'

type Type = Value['value_type']

/** TraitDialog edits a trait, new without one. */
export function TraitDialog({ person, trait, close }: { person: Person; trait?: Trait | undefined; close: () => void }) {
  const [key, setKey] = useState(trait?.trait_key ?? '')
  const [type, setType] = useState<Type>(trait?.value_type ?? 'unicode')
  const [text, setText] = useState(trait ? literal(trait) : '')
  const value = valueOf(type, text)
  const form = useForm(async () => {
    const undo = trait
      ? () => saveTrait(person, key, trait, inputOf(trait), { label: `Trait ${key} as before` })
      : () => removeTrait(person, key, { label: `Trait ${key} removed` })
    await saveTrait(person, key, trait, value!, { label: `Trait ${key} ${trait ? 'changed' : 'added'}`, undo, quiet: true })
  }, close)
  const problem = form.fields.string_value ?? form.fields.integer_value ?? form.fields.float_value
  const chosen = useRef({ from: { type, text }, to: { type, text } }) // a type that was passed on the way, as with arrow keys, takes nothing away
  const change = (t: Type) => {
    const { to } = chosen.current
    const from = to.type === type && to.text === text ? chosen.current.from : { type, text }
    chosen.current = { from, to: { type: t, text: t === from.type ? from.text : converted(from.text, t) } }
    setType(t)
    setText(chosen.current.to.text)
  }
  return (
    <FormDialog title={trait ? `Trait ${trait.trait_key}` : 'New trait'} close={close} form={form} button={trait ? 'Save' : 'Add the trait'} incomplete={value === null}>
      {!trait && <Field label="Key" required autofocus autocomplete="off" spellcheck={false} class="input mono" value={key} change={setKey} error={form.fields.trait_key} />}
      <div class="form-row">
        <Select label="Type" value={type} change={t => change(t as Type)} options={Object.entries(types).map(([value, label]) => ({ value, label }))} />
        {type === 'bool' ? (
          <Select label="Value" value={text} change={setText} options={[{ value: 'true', label: 'true' }, { value: 'false', label: 'false' }]} />
        ) : (
          <Field label="Value" autofocus={!!trait} required={type !== 'unicode'} autocomplete="off" spellcheck={false} class="input mono" value={text} change={setText} error={problem} />
        )}
      </div>
    </FormDialog>
  )
}

/** converted keeps as much of a text as another type can hold. */
function converted(text: string, type: Type): string {
  if (type === 'bool') return String(text === 'true')
  if (type === 'unicode' || valueOf(type, text) !== null) return text
  return type === 'int' ? String(Math.trunc(Number(text)) || 0) : '0.0'
}
