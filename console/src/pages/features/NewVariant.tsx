import { useState } from 'preact/hooks'
import { write } from '../../api/write'
import type { TypedValue } from '../../api/types'
import { FormError } from '../../parts/Form'
import { Icon } from '../../parts/Icon'
import { useForm } from '../../parts/useForm'
import { featureModels, type Spot } from './flag'
import { ValueEditor } from './ValueEditor'

const kinds = { string: 'unicode', integer: 'int', boolean: 'bool' } as const

/** NewVariant adds a variant, which nobody gets until it has a share. */
export function NewVariant({ spot: { project, feature, environment } }: { spot: Spot }) {
  const [value, setValue] = useState<TypedValue | null>(null)
  const form = useForm(async () => {
    const v = value!
    await write(
      'POST',
      `/api/v1/projects/${project}/features/${feature.id}/mv-options/`,
      {
        feature: feature.id,
        type: kinds[v.type],
        default_percentage_allocation: 0,
        string_value: v.type === 'string' ? v.value : null,
        integer_value: v.type === 'integer' ? Number(v.value) : null,
        boolean_value: v.type === 'boolean' ? v.value === 'true' : null,
      },
      { label: `Variant added to ${feature.name}`, models: featureModels, environment: environment.api_key, quiet: true },
    )
    setValue(null)
  })
  if (value === null) {
    return (
      <button type="button" class="button small" onClick={() => setValue({ type: 'string', value: '' })}>
        <Icon name="plus" size={16} /> Add a variant
      </button>
    )
  }
  return (
    <div class="new-variant">
      <ValueEditor label="Value of the new variant" value={value} change={setValue} />
      <FormError text={form.message || Object.values(form.fields)[0]} />
      <div class="actions">
        <button type="button" class="button small" onClick={() => setValue(null)}>
          Cancel
        </button>
        <button type="button" class="button small primary" disabled={form.busy || (value.type === 'integer' && !/^-?\d+$/.test(value.value))} onClick={form.onSubmit}>
          Add
        </button>
      </div>
    </div>
  )
}
