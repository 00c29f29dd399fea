import { useId } from 'preact/hooks'
import { Icon } from '../../parts/Icon'
import { ConditionRow } from './ConditionRow'
import { contextProperties } from './operators'
import { RuleBox } from './RuleBox'
import { newCondition, newRule, newRules, replaced, without, type Condition, type Rule } from './rules'

interface Props {
  rules: Rule[]
  change: (rules: Rule[]) => void
  /** Known traits, to choose from. */
  traits: string[]
  errors: Record<string, string>
}

/** RuleBuilder edits any rules that the API takes: those of the upper level, each with conditions and with rules of conditions. */
export function RuleBuilder({ rules, change, traits, errors }: Props) {
  const properties = useId()
  return (
    <div class="rules">
      <datalist id={properties}>
        {traits.map(t => (
          <option key={t} value={t} />
        ))}
        {Object.entries(contextProperties).map(([value, name]) => (
          <option key={value} value={value} label={name} />
        ))}
      </datalist>
      {rules.map((r, i) => (
        <Upper
          key={i}
          rule={r}
          name={rules.length > 1 ? `block ${i + 1}` : 'the rules'}
          prefix={rules.length > 1 ? `${i + 1}.` : ''}
          before={i === 0 ? 'Users where' : 'and also'}
          change={next => change(replaced(rules, i, next))}
          remove={rules.length > 1 ? () => change(without(rules, i)) : undefined}
          properties={properties}
          errors={errors}
          path={`rules.${i}`}
        />
      ))}
      <div>
        <button type="button" class="button ghost small" onClick={() => change([...rules, ...newRules()])}>
          <Icon name="plus" size={16} /> And also: another block
        </button>
      </div>
    </div>
  )
}

interface PartProps {
  rule: Rule
  change: (r: Rule) => void
  properties: string
  errors: Record<string, string>
  path: string
}

/** Upper is a rule of the upper level. A rule in it with one condition is shown as that condition. */
function Upper({ rule, change, name, prefix, before, remove, ...rest }: PartProps & { name: string; prefix: string; before: string; remove: (() => void) | undefined }) {
  const inner = rule.rules ?? []
  const count = rule.conditions.length + inner.length
  const setInner = (rules: Rule[]) => change({ ...rule, rules })
  const number = (i: number) => `${prefix}${rule.conditions.length + i + 1}`
  return (
    <RuleBox label={name} type={rule.type} change={type => change({ ...rule, type })} before={before} remove={remove}>
      <Conditions conditions={rule.conditions} change={conditions => change({ ...rule, conditions })} prefix={prefix} keep={count === 1} {...rest} />
      {rule.type === 'ANY' && rule.conditions.length > 0 && inner.length > 0 && <p class="rule-joint">and any of these too</p>}
      {inner.map((r, i) =>
        r.conditions.length === 1 && r.type !== 'NONE' ? (
          <ConditionRow
            key={i}
            {...rest}
            number={number(i)}
            condition={r.conditions[0]!}
            change={c => setInner(replaced(inner, i, { ...r, conditions: [c] }))}
            remove={count > 1 ? () => setInner(without(inner, i)) : undefined}
            or={() => setInner(replaced(inner, i, { ...r, type: 'ANY', conditions: [...r.conditions, newCondition()] }))}
            path={`${rest.path}.rules.${i}.conditions.0`}
          />
        ) : (
          <RuleBox
            key={i}
            label={`group ${number(i)}`}
            type={r.type}
            change={type => setInner(replaced(inner, i, { ...r, type }))}
            remove={count > 1 ? () => setInner(without(inner, i)) : undefined}
          >
            <Conditions
              {...rest}
              conditions={r.conditions}
              change={conditions => setInner(replaced(inner, i, { ...r, conditions }))}
              prefix={`${number(i)}.`}
              keep={r.conditions.length === 1}
              path={`${rest.path}.rules.${i}`}
            />
            <div>
              <button type="button" class="button ghost small" onClick={() => setInner(replaced(inner, i, { ...r, conditions: [...r.conditions, newCondition()] }))}>
                <Icon name="plus" size={16} /> Condition in group {number(i)}
              </button>
            </div>
          </RuleBox>
        ),
      )}
      <div class="rule-add">
        <button type="button" class="button small" onClick={() => setInner([...inner, newRule()])}>
          <Icon name="plus" size={16} /> Condition
        </button>
        <button type="button" class="button small" onClick={() => setInner([...inner, newRule('ANY', 2)])}>
          <Icon name="plus" size={16} /> Group
        </button>
      </div>
    </RuleBox>
  )
}

interface ConditionsProps {
  conditions: Condition[]
  change: (conditions: Condition[]) => void
  prefix: string
  /** The last one stays. */
  keep: boolean
  properties: string
  errors: Record<string, string>
  path: string
}

function Conditions({ conditions, change, prefix, keep, path, ...rest }: ConditionsProps) {
  return (
    <>
      {conditions.map((c, i) => (
        <ConditionRow
          key={i}
          {...rest}
          number={`${prefix}${i + 1}`}
          condition={c}
          change={next => change(replaced(conditions, i, next))}
          remove={keep ? undefined : () => change(without(conditions, i))}
          path={`${path}.conditions.${i}`}
        />
      ))}
    </>
  )
}
