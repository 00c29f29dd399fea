import { useState } from 'preact/hooks'
import { useAsk } from '../../api/ask'
import type { RuleTrace } from '../../api/trace'
import { Field } from '../../parts/Field'
import { RuleTree, Verdict } from '../../parts/RuleTree'
import { complete, sent, type RuledSegment, type Rule } from './rules'
import { readTraits } from './traits'

interface Match {
  identity: { identity_uuid: string | null }
  matched: boolean
  rules: RuleTrace[]
}

interface Props {
  path: string
  segment: RuledSegment | undefined
  rules: Rule[]
}

/** Tester tells of somebody with certain traits whether the rules match, and why; the server's engine decides. */
export function Tester({ path, segment, rules }: Props) {
  const [identifier, setIdentifier] = useState('')
  const [text, setText] = useState('{\n  "plan": "premium"\n}')
  const traits = readTraits(text)
  const ready = complete(rules)
  const asked = useAsk<Match>(
    ready && traits.list ? path : null,
    { rules: sent(rules), segment: segment?.id ?? null, identifier: identifier || null, traits: traits.list },
    250,
  )
  const answer = asked.data
  return (
    <section class="trial-part" aria-labelledby="tester">
      <h2 id="tester">Test</h2>
      <Field
        label="Identifier"
        autocomplete="off"
        spellcheck={false}
        placeholder="nobody in particular"
        value={identifier}
        change={setIdentifier}
        hint={answer?.identity.identity_uuid && identifier ? 'Is stored: the traits below are laid over its own.' : undefined}
      />
      <div class="field">
        <label for="tester-traits">Traits as JSON</label>
        <textarea
          id="tester-traits"
          class="textarea mono"
          rows={4}
          spellcheck={false}
          value={text}
          aria-invalid={traits.error ? true : undefined}
          aria-describedby={traits.error ? 'tester-fault' : undefined}
          onInput={e => setText(e.currentTarget.value)}
        />
        {traits.error && (
          <p id="tester-fault" class="field-error">
            {traits.error}
          </p>
        )}
      </div>
      <div class="trial-answer" role="status" aria-busy={asked.loading}>
        {!ready && <p class="muted">Say first what each condition is about.</p>}
        {ready && asked.error && <p class="field-error">{asked.error}</p>}
        {ready && !traits.error && answer && (
          <p class={`trial-verdict ${answer.matched ? 'yes' : 'no'}`}>
            <Verdict yes={answer.matched} words={['yes', 'no']} />
            {answer.matched ? 'Matches' : 'Does not match'}
          </p>
        )}
      </div>
      {ready && !traits.error && answer && <RuleTree rules={answer.rules} />}
      {!segment && rulesSplit(rules) && <p class="field-hint">Percentages fall anew once the segment is made: they go by its id.</p>}
    </section>
  )
}

const rulesSplit = (rules: Rule[]): boolean => rules.some(r => r.conditions.some(c => c.operator === 'PERCENTAGE_SPLIT') || rulesSplit(r.rules ?? []))
