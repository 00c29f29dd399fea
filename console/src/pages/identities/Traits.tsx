import { useState } from 'preact/hooks'
import { useList } from '../../api/query'
import { Icon } from '../../parts/Icon'
import { RemoveButton } from '../../parts/RemoveButton'
import { Sheet } from '../../parts/Sheet'
import { identityModels, type Person } from './identity'
import { inputOf, removeTrait, saveTrait, shown, traitsPath, types, type Trait } from './trait'
import { TraitDialog } from './TraitDialog'

/** Traits are what is known of an identity, and what segments ask for. */
export function Traits({ person }: { person: Person }) {
  const traits = useList<Trait>(traitsPath(person), identityModels)
  const [edited, setEdited] = useState<Trait | 'new' | null>(null)
  const remove = (t: Trait) =>
    removeTrait(person, t.trait_key, {
      label: `Trait ${t.trait_key} removed`,
      undo: () => saveTrait(person, t.trait_key, undefined, inputOf(t), { label: `Trait ${t.trait_key} is back` }),
    })
  const sorted = traits.data?.toSorted((a, b) => a.trait_key.localeCompare(b.trait_key, 'en'))
  return (
    <Sheet
      title="Traits"
      actions={
        <button type="button" class="button small" onClick={() => setEdited('new')}>
          <Icon name="plus" size={16} /> Trait
        </button>
      }
    >
      {traits.error && <p class="field-error">{traits.error}</p>}
      {sorted?.length === 0 && <p class="muted">None yet.</p>}
      <ul class="traits" aria-busy={traits.loading}>
        {sorted?.map(t => (
          <li key={t.id} class="trait">
            <span class="trait-key">{t.trait_key}</span>{' '}
            <span class="mono trait-value" title={types[t.value_type]}>
              {shown(t)}
            </span>
            <button type="button" class="button ghost square small" aria-label={`Edit ${t.trait_key}`} onClick={() => setEdited(t)}>
              <Icon name="edit" size={16} />
            </button>
            <RemoveButton label={`Remove ${t.trait_key}`} remove={() => remove(t)} />
          </li>
        ))}
      </ul>
      {edited && <TraitDialog person={person} trait={edited === 'new' ? undefined : edited} close={() => setEdited(null)} />}
    </Sheet>
  )
}
