import { useState } from 'preact/hooks'
import { useList, useQuery } from '../../api/query'
import type { Feature } from '../../api/types'
import { Icon } from '../../parts/Icon'
import { Sheet } from '../../parts/Sheet'
import { featureModels, featuresPath } from '../features/flag'
import { FlagRow } from './FlagRow'
import { explainModels, overrideModels, overridesPath, own, type Explanation, type Override, type Person } from './identity'

const first = 100
const collator = new Intl.Collator('en', { numeric: true, sensitivity: 'base' })

/** Flags are what an identity gets, and why; one may be opened already. */
export function Flags({ person, opened }: { person: Person; opened: string | undefined }) {
  const { environment, identity, project } = person
  const path = `/api/flagraft/v1/environments/${encodeURIComponent(environment.api_key)}/explain/?identity_uuid=${identity.identity_uuid}`
  const told = useQuery<Explanation>(path, explainModels)
  const overrides = useQuery<Override[]>(overridesPath(person), overrideModels).data
  const features = useList<Feature>(featuresPath(project, environment.id), featureModels).data
  const [search, setSearch] = useState('')
  const [only, setOnly] = useState(false)
  const [all, setAll] = useState(opened !== undefined)
  const passing = told.data?.trace.features
    .filter(t => t.name.toLowerCase().includes(search.trim().toLowerCase()) && (!only || t.overrides?.some(o => o.segment === own)))
    .sort((a, b) => collator.compare(a.name, b.name))
  const shown = all ? passing : passing?.slice(0, first)
  return (
    <Sheet title="Flags" text={`What ${identity.identifier} gets now in ${environment.name}, and why.`}>
      <div class="list-filters" role="search">
        <div class="search">
          <Icon name="search" size={16} />
          <input class="input" type="search" aria-label="Search flags" placeholder="Search by name" value={search} onInput={e => setSearch(e.currentTarget.value)} />
        </div>
        <label class="tick">
          <input type="checkbox" checked={only} onChange={e => setOnly(e.currentTarget.checked)} />
          Overridden here
        </label>
      </div>
      {told.error && <p class="field-error">{told.error}</p>}
      <ul class="flags" aria-busy={told.loading}>
        {shown?.map(t => {
          const feature = features?.find(f => f.name === t.name)
          return (
            <FlagRow
              key={t.name}
              person={person}
              feature={feature}
              trace={t}
              segments={told.data!.trace.segments}
              hidden={told.data!.hidden.includes(t.name)}
              override={overrides?.find(o => o.feature === feature?.id)}
              opened={t.name === opened}
              ready={!!overrides && !!feature}
            />
          )
        })}
      </ul>
      {passing?.length === 0 && <p class="muted">{told.data!.trace.features.length === 0 ? 'The project has no feature yet.' : 'No flag passes.'}</p>}
      {passing && shown && passing.length > shown.length && (
        <button type="button" class="button" onClick={() => setAll(true)}>
          Show all {passing.length}
        </button>
      )}
    </Sheet>
  )
}
