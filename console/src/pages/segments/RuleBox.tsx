import type { ComponentChildren } from 'preact'
import type { Quantifier } from '../../api/trace'
import { RemoveButton } from '../../parts/RemoveButton'

interface Props {
  label: string
  type: Quantifier
  change: (type: Quantifier) => void
  before?: string
  remove?: (() => void) | undefined
  children: ComponentChildren
}

/** RuleBox is the frame of a rule: how many of the parts in it must hold. */
export function RuleBox({ label, type, change, before = '', remove, children }: Props) {
  return (
    <fieldset class="rule" aria-label={label}>
      <div class="rule-head">
        {before && <span>{before}</span>}
        <select class="select rule-type" aria-label={`How many of ${label}`} value={type} onChange={e => change(e.currentTarget.value as Quantifier)}>
          <option value="ALL">all</option>
          <option value="ANY">any</option>
          <option value="NONE">none</option>
        </select>
        <span>of these hold</span>
        {remove && (
          <RemoveButton label={`Remove ${label}`} remove={remove} />
        )}
      </div>
      {children}
    </fieldset>
  )
}
