import '../styles/tree.css'
import type { ConditionTrace, RuleTrace } from '../api/trace'
import { phrase } from '../pages/segments/operators'
import { Icon } from './Icon'

const heads = { ALL: 'All of these', ANY: 'Any of these', NONE: 'None of these' }

/** Verdict is a tick or a cross, and the same in words. */
export function Verdict({ yes, words = ['holds', 'does not hold'] }: { yes: boolean; words?: [string, string] }) {
  return (
    <span class={`verdict ${yes ? 'yes' : 'no'}`}>
      <Icon name={yes ? 'check' : 'close'} size={14} />
      <span class="visually-hidden">{words[yes ? 0 : 1]}: </span>
    </span>
  )
}

/** RuleTree is why rules matched or did not: every rule and condition with its verdict and what it saw. */
export function RuleTree({ rules }: { rules: RuleTrace[] }) {
  return (
    <ul class="tree">
      {rules.map((r, i) => (
        <Rule key={i} rule={r} />
      ))}
    </ul>
  )
}

function Rule({ rule: { type, matched, conditions = [], rules = [] } }: { rule: RuleTrace }) {
  // A rule of one condition is that condition.
  if (type !== 'NONE' && conditions.length === 1 && rules.length === 0) return <Condition condition={conditions[0]!} />
  return (
    <li>
      <p class="tree-line">
        <Verdict yes={matched} />
        <span>{conditions.length + rules.length === 0 ? 'Nothing is asked' : (heads[type] ?? type)}</span>
      </p>
      <ul class="tree">
        {conditions.map((c, i) => (
          <Condition key={i} condition={c} />
        ))}
        {rules.map((r, i) => (
          <Rule key={i} rule={r} />
        ))}
      </ul>
    </li>
  )
}

function Condition({ condition: c }: { condition: ConditionTrace }) {
  return (
    <li>
      <p class="tree-line">
        <Verdict yes={c.matched} />
        <span>
          {phrase(c)}
          <span class="tree-seen"> – {seen(c)}</span>
        </span>
      </p>
    </li>
  )
}

function seen(c: ConditionTrace): string {
  if (c.percentage !== undefined) return `in bucket ${round(c.percentage)} %`
  if (c.seen === null) return 'not there'
  return c.seen === '' ? 'is empty' : `is ${c.seen}`
}

const round = (n: number) => Math.round(n * 100) / 100
