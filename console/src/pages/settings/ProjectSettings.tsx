import { useLocation } from 'preact-iso'
import { useQuery } from '../../api/query'
import type { Environment, Project } from '../../api/types'
import { write } from '../../api/write'
import { environmentLink } from '../../links'
import { count } from '../../parts/amount'
import { Field } from '../../parts/Field'
import { Form } from '../../parts/Form'
import { NewRow } from '../../parts/NewRow'
import { Setting } from '../../parts/Setting'
import { Sheet } from '../../parts/Sheet'
import { useDraft } from '../../parts/useForm'
import { Waiting } from '../../parts/Waiting'
import { useEnvironments } from '../../state/place'
import { DeleteSheet } from './DeleteSheet'

interface Settings extends Project {
  hide_disabled_flags: boolean
  prevent_flag_defaults: boolean
  total_features: number
  total_segments: number
  max_features_allowed: number
  max_segments_allowed: number
}

const models = ['Project']

/** ProjectSettings is how a project behaves, and its environments. */
export function ProjectSettings({ project: id }: { project: number }) {
  const { route } = useLocation()
  const path = `/api/v1/projects/${id}/`
  const { data: p, error } = useQuery<Settings>(path, [...models, 'Feature', 'Segment'])
  if (!p) return <Waiting error={error} />
  const patch = (change: Partial<Settings>, label: string) => write<Settings>('PATCH', path, change, { label, models })
  const toggle = (name: keyof Settings, title: string, text: string) => (
    <Setting title={title} text={text} on={p[name] === true} change={on => patch({ [name]: on }, `${title}: ${on ? 'on' : 'off'}`)} />
  )
  return (
    <div class="page">
      <h1>Settings of {p.name}</h1>
      <p class="page-lead">
        {count(p.total_features)} of {count(p.max_features_allowed)} features, {count(p.total_segments)} of {count(p.max_segments_allowed)} segments.
      </p>
      <Sheet title="Project">
        <Names key={p.id} project={p} patch={patch} />
      </Sheet>
      <Environments project={id} />
      <Sheet title="Features">
        {toggle('hide_disabled_flags', 'Hide flags that are off', 'Clients get only the flags that are on. Environments may say otherwise.')}
        {toggle('only_allow_lower_case_feature_names', 'Names in lower case', 'Names of new features have no capitals.')}
        {toggle('prevent_flag_defaults', 'New features begin off', 'New features have neither a value nor are they on anywhere.')}
      </Sheet>
      <DeleteSheet
        kind="project"
        name={p.name}
        text="With all its environments. Programs get no flags any more."
        warning="Every environment, feature, segment and identity in it goes. This cannot be undone."
        run={async () => {
          await write('DELETE', path, undefined, { label: `Project ${p.name} deleted`, models: ['Project', 'Environment'], quiet: true })
          route('/')
        }}
      />
    </div>
  )
}

function Names({ project: p, patch }: { project: Settings; patch: (change: Partial<Settings>, label: string) => Promise<unknown> }) {
  const { form, field } = useDraft({ name: p.name, feature_name_regex: p.feature_name_regex ?? '' }, draft => patch({ ...draft, feature_name_regex: draft.feature_name_regex || null }, `${draft.name} saved`), { name: `settings of project ${p.id}` })
  return (
    <Form form={form} button="Save">
      <Field label="Name" required autocomplete="off" {...field('name')} />
      <Field label="Pattern of feature names (optional)" class="input mono" autocomplete="off" hint="A regular expression that new names must match." {...field('feature_name_regex')} />
    </Form>
  )
}

function Environments({ project }: { project: number }) {
  const environments = useEnvironments(project)
  return (
    <Sheet title="Environments">
      <ul class="plain-list">
        {environments?.map(e => (
          <li key={e.id}>
            <a href={environmentLink(project, e.api_key, 'settings')}>{e.name}</a>
            {e.description && <span class="muted"> {e.description}</span>}
          </li>
        ))}
      </ul>
      <NewRow
        label="Name of a new environment"
        button="Make the environment"
        make={name => write<Environment>('POST', '/api/v1/environments/', { name, project }, { label: `Environment ${name} made`, models: ['Environment'], quiet: true })}
      />
    </Sheet>
  )
}
