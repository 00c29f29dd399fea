import { useState } from 'preact/hooks'
import type { MultivariateOption } from '../../api/types'
import { optionValue, shown } from './flag'

export type Weight = { id: number; weight: number }

/** sum is how much the variants take of all identities, in percent. */
export const sum = (weights: Weight[]) => Math.round(weights.reduce((n, w) => n + w.weight, 0) * 1000) / 1000

/** weightsOf gives every option of a feature its weight. */
export const weightsOf = (options: MultivariateOption[], variants: Weight[]): Weight[] =>
  options.map(o => ({ id: o.id, weight: variants.find(v => v.id === o.id)?.weight ?? 0 }))

interface Props {
  options: MultivariateOption[]
  weights: Weight[]
  change: (weights: Weight[]) => void
  /** What identities get that no variant takes. */
  rest: string
  remove?: (option: MultivariateOption) => void
}

/** Weights are the shares of the variants, with a bar that shows their sum. */
export function Weights({ options, weights, change, rest, remove }: Props) {
  const total = sum(weights)
  const over = total > 100
  const of = (id: number) => weights.find(w => w.id === id)?.weight ?? 0
  const set = (id: number, weight: number) => change(options.map(o => ({ id: o.id, weight: o.id === id ? weight : of(o.id) })))
  return (
    <div class="weights">
      <div class={`weight-bar ${over ? 'over' : ''}`} role="img" aria-label={`${total} % of identities get a variant, ${Math.max(0, 100 - total)} % the value above`}>
        {options.map((o, i) => (
          <span key={o.id} class={`weight-part w${i % 6}`} style={{ width: `${over ? (of(o.id) / total) * 100 : of(o.id)}%` }} />
        ))}
      </div>
      <p class={`weight-sum ${over ? 'field-error' : 'muted'}`} role="status">
        {over ? `${total} % is ${round(total - 100)} % too much.` : `${total} % in variants, ${round(100 - total)} % get ${rest}.`}
      </p>
      <ul class="weight-list">
        {options.map((o, i) => (
          <li key={o.id}>
            <span class={`weight-swatch w${i % 6}`} />
            <span class="weight-value mono">{shown(optionValue(o))}</span>
            <input
              type="range"
              min={0}
              max={100}
              step={1}
              value={of(o.id)}
              aria-label={`Share of ${shown(optionValue(o))}`}
              onInput={e => set(o.id, Number(e.currentTarget.value))}
            />
            <label class="weight-number">
              <span class="visually-hidden">Share of {shown(optionValue(o))} in percent</span>
              <Share weight={of(o.id)} change={weight => set(o.id, weight)} />%
            </label>
            {remove && (
              <button type="button" class="button ghost small danger" onClick={() => remove(o)}>
                Remove
              </button>
            )}
          </li>
        ))}
      </ul>
    </div>
  )
}

/** Share is a share in percent. What is being typed stays as it is: "2." is not a number yet, and must not become 2 before the 5 comes. */
function Share({ weight, change }: { weight: number; change: (weight: number) => void }) {
  const [typed, setTyped] = useState<string | null>(null)
  return (
    <input
      class="input"
      type="number"
      min={0}
      max={100}
      step="any"
      value={typed !== null && clamp(Number(typed)) === weight ? typed : weight}
      onInput={e => {
        setTyped(e.currentTarget.value)
        change(clamp(e.currentTarget.valueAsNumber))
      }}
      onBlur={() => setTyped(null)}
    />
  )
}

const round = (n: number) => Math.round(n * 1000) / 1000
const clamp = (n: number) => (Number.isFinite(n) ? Math.min(100, Math.max(0, n)) : 0)
