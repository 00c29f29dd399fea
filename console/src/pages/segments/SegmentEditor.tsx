import { useLocation } from 'preact-iso'
import { useList, useQuery } from '../../api/query'
import type { Feature } from '../../api/types'
import { write } from '../../api/write'
import { linkIn } from '../../links'
import { Field } from '../../parts/Field'
import { FormError } from '../../parts/Form'
import { Overtaken } from '../../parts/Overtaken'
import { useFollowing } from '../../parts/useFollowing'
import { useForm } from '../../parts/useForm'
import { featureModels, featuresPath } from '../features/flag'
import { AssociatedFeatures } from './AssociatedFeatures'
import { RuleBuilder } from './RuleBuilder'
import { newRules, segmentModels, segmentsPath, sent, sentence, type RuledSegment, type Rule } from './rules'
import { SegmentActions } from './SegmentActions'
import { Trial } from './Trial'
import { useAnEnvironment } from './useAnEnvironment'

interface Draft {
  name: string
  description: string
  feature: number | null
  rules: Rule[]
}

const draftOf = (s: RuledSegment | undefined): Draft =>
  s ? { name: s.name, description: s.description ?? '', feature: s.feature, rules: s.rules } : { name: '', description: '', feature: null, rules: newRules() }

/** SegmentEditor edits a segment, new without one, and tries the rules as they stand. */
export function SegmentEditor({ project, segment }: { project: number; segment?: RuledSegment }) {
  const { route } = useLocation()
  const environment = useAnEnvironment(project)
  const traits = useQuery<{ keys: string[] }>(environment ? `/api/v1/environments/${encodeURIComponent(environment.api_key)}/trait-keys/` : null, ['Identity']).data?.keys ?? []
  const features = useList<Feature>(environment ? featuresPath(project, environment.id) : null, featureModels).data
  const before = draftOf(segment)
  const { draft, setDraft, dirty, sending, discard, overtaken } = useFollowing(before, undefined, segment ? `segment ${segment.id}` : `new segment of ${project}`)
  const set = (change: Partial<Draft>) => setDraft({ ...draft, ...change })

  const form = useForm(() => sending(async () => {
    const body = { ...draft, rules: sent(draft.rules), project }
    if (!segment) {
      const made = await write<RuledSegment>('POST', segmentsPath(project), body, { label: `Segment ${draft.name} made`, models: segmentModels, quiet: true })
      discard()
      route(linkIn('project', 'segments', made.id)!, true)
      return
    }
    const save = (d: Draft, label: string, undo?: () => unknown): Promise<unknown> =>
      write('PATCH', `${segmentsPath(project)}${segment.id}/`, { ...d, rules: sent(d.rules) }, { label, models: segmentModels, environment: environment?.api_key, undo, quiet: !!undo })
    await save(draft, `Segment ${draft.name} changed`, () => save(before, `Segment ${before.name} as before`))
  }))
  // What is not said of a field that is shown here stands below the form.
  const rest = Object.entries(form.fields).filter(([f]) => !/^(name|description|feature)$|\.(property|operator|value)$/.test(f)).map(([, text]) => text)

  return (
    <div class="page">
      <nav class="crumbs" aria-label="Above">
        <a href={linkIn('project', 'segments') ?? '#'}>Segments</a>
      </nav>
      <div class="page-head segment-head">
        <h1>{segment?.name ?? 'New segment'}</h1>
        {segment && <SegmentActions project={project} segment={segment} />}
      </div>
      <div class="page-columns segment">
        <form class="segment-main form" onSubmit={form.onSubmit} aria-label="Segment">
          <div class="form-row">
            <Field label="Name" required autofocus={!segment} autocomplete="off" value={draft.name} change={name => set({ name })} error={form.fields.name} />
            <div class="field">
              <label for="segment-for">For</label>
              <select id="segment-for" class="select" disabled={!!segment} value={draft.feature ?? ''} onChange={e => set({ feature: e.currentTarget.value ? Number(e.currentTarget.value) : null })}>
                <option value="">All features</option>
                {features?.map(f => (
                  <option key={f.id} value={f.id}>
                    Only {f.name}
                  </option>
                ))}
              </select>
              {form.fields.feature && <span class="field-error">{form.fields.feature}</span>}
            </div>
          </div>
          <Field label="Description" autocomplete="off" value={draft.description} change={description => set({ description })} error={form.fields.description} />
          <h2>Rules</h2>
          <RuleBuilder rules={draft.rules} change={rules => set({ rules })} traits={traits} errors={form.fields} />
          <p class="sentence" aria-live="polite">
            {sentence(draft.rules)}
          </p>
          <FormError text={form.message || rest.join(' ')} />
          <Overtaken back={overtaken} />
          <div class={`save-bar ${dirty ? '' : 'idle'}`}>
            {segment ? (
              <button type="button" class="button" disabled={!dirty} onClick={discard}>
                Discard
              </button>
            ) : (
              <a class="button" href={linkIn('project', 'segments') ?? '#'} onClick={discard}>
                Cancel
              </a>
            )}
            <button class="button primary" disabled={form.busy || (!!segment && !dirty)}>
              {segment ? 'Save' : 'Make the segment'}
            </button>
          </div>
          {segment && <AssociatedFeatures project={project} segment={segment} features={features ?? []} />}
        </form>
        <Trial project={project} segment={segment} rules={draft.rules} />
      </div>
    </div>
  )
}
