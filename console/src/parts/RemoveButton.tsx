import { Icon } from './Icon'
import { useOnce } from './useOnce'

/** RemoveButton stands at the end of what it removes. */
export function RemoveButton({ label, remove }: { label: string; remove: () => unknown }) {
  return (
    <button type="button" class="button ghost square small" aria-label={label} onClick={useOnce(() => remove())}>
      <Icon name="trash" size={16} />
    </button>
  )
}
