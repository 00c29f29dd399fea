import type { FeatureTrace, SegmentTrace } from '../../api/trace'
import { RuleTree, Verdict } from '../../parts/RuleTree'
import { shown } from '../features/flag'
import { own, percent, variant } from './identity'

/** Why is how a flag was decided: the overrides in their order, each with the rules of its segment, down to the first that holds. */
export function Why({ project, trace: t, segments }: { project: number; trace: FeatureTrace; segments: SegmentTrace[] }) {
  const overrides = t.overrides ?? []
  const won = overrides.find(o => o.won)
  return (
    <>
      <ol class="tree">
        {overrides.map((o, i) => {
          const segment = o.segment === own ? undefined : segments.find(s => s.name === o.segment)
          return (
            <li key={i}>
              <p class="tree-line">
                <Verdict yes={o.matched} words={['matches', 'does not match']} />
                <span>
                  {o.segment === own ? 'An override for this identity' : <>Segment {segment ? <a href={`/projects/${project}/segments/${segment.key}`}>{o.segment}</a> : o.segment}</>}
                  <span class="tree-seen">{o.won ? ' – decides' : o.matched ? ' – an earlier one decides' : ''}</span>
                </span>
              </p>
              {!!segment?.rules?.length && <RuleTree rules={segment.rules} />}
            </li>
          )
        })}
        <li>
          <p class="tree-line">
            <Verdict yes={!won} words={['decides', 'does not decide']} />
            <span>
              The default of the environment<span class="tree-seen">{won ? '' : overrides.length > 0 ? ' – no override holds' : ' – nothing overrides it'}</span>
            </span>
          </p>
        </li>
        {t.percentage !== undefined && (
          <li>
            <p class="tree-line">
              <Verdict yes words={['then', '']} />
              <span>
                Bucket {percent(t.percentage)} of the split: {variant(t)}, {shown(t.value)}
              </span>
            </p>
          </li>
        )}
      </ol>
      <p class="why-reason">
        Programs are told: <code>{t.reason}</code>
      </p>
    </>
  )
}
