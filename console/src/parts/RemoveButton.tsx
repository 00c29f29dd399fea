import { Icon } from './Icon'

/** RemoveButton stands at the end of what it removes. */
export function RemoveButton({ label, remove }: { label: string; remove: () => void }) {
  return (
    <button type="button" class="button ghost square small" aria-label={label} onClick={remove}>
      <Icon name="trash" size={16} />
    </button>
  )
}
