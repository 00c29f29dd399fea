import { useState } from 'preact/hooks'
import type { FeatureTrace } from '../../api/trace'
import type { Feature } from '../../api/types'
import { FormDialog } from '../../parts/FormDialog'
import { Select } from '../../parts/Select'
import { Switch } from '../../parts/Switch'
import { useForm } from '../../parts/useForm'
import { optionValue, shown, typed, untyped } from '../features/flag'
import { ValueEditor } from '../features/ValueEditor'
import { inputOf, removeOverride, saveOverride, type Override, type OverrideInput, type Person } from './identity'

interface Props {
  person: Person
  feature: Feature
  trace: FeatureTrace
  override: Override | undefined
  close: () => void
}

/** OverrideDialog gives one identity its own state of a feature: on or off, a value, or one of the variants. */
export function OverrideDialog({ person, feature, trace, override, close }: Props) {
  const [enabled, setEnabled] = useState(trace.enabled)
  const [value, setValue] = useState(typed(override ? override.feature_state_value : trace.value))
  const taken = override?.multivariate_feature_state_values.find(s => s.percentage_allocation === 100)?.multivariate_feature_option
  // Shares that are split can only come from elsewhere; they stay until a variant or a value is chosen.
  const split = taken === undefined && !!override?.multivariate_feature_state_values.some(s => s.percentage_allocation > 0)
  const [option, setOption] = useState(split ? 'split' : String(taken ?? ''))
  const who = person.identity.identifier
  const name = feature.name
  const form = useForm(async () => {
    const shares = option === 'split' ? override!.multivariate_feature_state_values : option === '' ? [] : [{ multivariate_feature_option: Number(option), percentage_allocation: 100 }]
    const input: OverrideInput = { feature: feature.id, enabled, feature_state_value: untyped(value), multivariate_feature_state_values: shares }
    let saved: Override | undefined
    const undo = () =>
      override ? saveOverride(person, override, inputOf(override), `Override of ${name} for ${who} as before`) : removeOverride(person, saved!, `Override of ${name} for ${who} removed`)
    saved = await saveOverride(person, override, input, `Override of ${name} for ${who} ${override ? 'changed' : 'made'}`, undo, true)
  }, close)
  const remove = useForm(async () => {
    await removeOverride(person, override!, `Override of ${name} for ${who} removed`, () => saveOverride(person, undefined, inputOf(override!), `Override of ${name} for ${who} is back`))
  }, close)
  return (
    <FormDialog
      title={`${name} for ${who}`}
      close={close}
      form={form}
      button={override ? 'Save' : 'Override'}
      incomplete={value?.type === 'integer' && !/^-?\d+$/.test(value.value)}
      message={form.message || remove.message || Object.values(form.fields)[0]}
      more={
        override && (
          <button type="button" class="button danger push" disabled={remove.busy} onClick={remove.onSubmit}>
            Remove the override
          </button>
        )
      }
    >
      <div class="override-state">
        <Switch on={enabled} label={`${name} for ${who}`} change={setEnabled} />
        <span>{enabled ? 'On' : 'Off'}</span>
      </div>
      {feature.multivariate_options.length > 0 && (
        <Select
          label="Variant"
          value={option}
          change={setOption}
          options={[
            { value: '', label: 'None: the value below' },
            ...(split ? [{ value: 'split', label: 'Split as it is' }] : []),
            ...feature.multivariate_options.map(o => ({ value: String(o.id), label: shown(optionValue(o)) })),
          ]}
        />
      )}
      {option === '' && <ValueEditor label="Value" value={value} change={setValue} />}
      <p class="muted">Comes before every segment.</p>
    </FormDialog>
  )
}
