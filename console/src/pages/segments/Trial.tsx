import { useState } from 'preact/hooks'
import { useEnvironments } from '../../state/place'
import { Members } from './Members'
import type { RuledSegment, Rule } from './rules'
import { Tester } from './Tester'
import { useAnEnvironment } from './useAnEnvironment'

interface Props {
  project: number
  segment: RuledSegment | undefined
  rules: Rule[]
}

/** Trial asks the server whom the rules match, before they are saved. */
export function Trial({ project, segment, rules }: Props) {
  const environments = useEnvironments(project) ?? []
  const usual = useAnEnvironment(project)
  const [chosen, setChosen] = useState<string | null>(null)
  const environment = environments.find(e => e.api_key === chosen) ?? usual
  if (!environment) return null
  const base = `/api/flagraft/v1/environments/${encodeURIComponent(environment.api_key)}/segments/`
  return (
    <aside class="trial" aria-label="Try the rules">
      <label class="trial-where">
        Try in
        <select class="select" value={environment.api_key} onChange={e => setChosen(e.currentTarget.value)}>
          {environments.map(e => (
            <option key={e.id} value={e.api_key}>
              {e.name}
            </option>
          ))}
        </select>
      </label>
      <Members key={base} path={`${base}count/`} segment={segment} rules={rules} />
      <Tester path={`${base}match/`} segment={segment} rules={rules} />
    </aside>
  )
}
