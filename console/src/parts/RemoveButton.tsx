import { useRef } from 'preact/hooks'
import { Icon } from './Icon'

/**
 * RemoveButton stands at the end of what it removes. Pressed again while that is under way it does nothing: the second request would be refused.
 * Whatever remove writes tells of its refusal in a receipt.
 */
export function RemoveButton({ label, remove }: { label: string; remove: () => unknown }) {
  const busy = useRef(false) // and not disabled, which would take the focus
  const act = async () => {
    if (busy.current) return
    busy.current = true
    try {
      await remove()
    } catch {
      // told already
    } finally {
      busy.current = false
    }
  }
  return (
    <button type="button" class="button ghost square small" aria-label={label} onClick={act}>
      <Icon name="trash" size={16} />
    </button>
  )
}
