import { useLocation } from 'preact-iso'
import { useState } from 'preact/hooks'
import { useQuery } from '../../api/query'
import type { Environment } from '../../api/types'
import { write } from '../../api/write'
import { environmentLink } from '../../links'
import { Confirm } from '../../parts/Confirm'
import { Field } from '../../parts/Field'
import { Form } from '../../parts/Form'
import { NewRow } from '../../parts/NewRow'
import { Select } from '../../parts/Select'
import { Setting } from '../../parts/Setting'
import { Sheet } from '../../parts/Sheet'
import { useDraft } from '../../parts/useForm'
import { Waiting } from '../../parts/Waiting'
import { DeleteSheet } from './DeleteSheet'

interface Settings extends Environment {
  hide_disabled_flags: boolean | null
  hide_sensitive_data: boolean
  allow_client_traits: boolean
  use_identity_overrides_in_local_eval: boolean
}

const models = ['Environment']

/** EnvironmentSettings is how an environment behaves. */
export function EnvironmentSettings({ project, environment: key }: { project: number; environment: string }) {
  const { route } = useLocation()
  const path = `/api/v1/environments/${encodeURIComponent(key)}/`
  const { data: e, error } = useQuery<Settings>(path, models)
  if (!e) return <Waiting error={error} />
  const patch = (change: Partial<Settings>, label: string) => write<Settings>('PATCH', path, change, { label, models, environment: key })
  const toggle = (name: keyof Settings, title: string, text: string) => (
    <Setting title={title} text={text} on={e[name] === true} change={on => patch({ [name]: on }, `${title}: ${on ? 'on' : 'off'}`)} />
  )
  return (
    <div class="page">
      <h1>Settings of {e.name}</h1>
      <Sheet title="Environment">
        <Names key={e.id} environment={e} patch={patch} />
      </Sheet>
      <Sheet title="What clients get">
        <div class="form">
          <Select
            label="Flags that are off"
            value={String(e.hide_disabled_flags)}
            change={v => void patch({ hide_disabled_flags: v === 'null' ? null : v === 'true' }, 'Flags that are off: changed').catch(() => {})}
            options={[
              { value: 'null', label: 'As the project says' },
              { value: 'true', label: 'Clients do not get them' },
              { value: 'false', label: 'Clients get them' },
            ]}
          />
        </div>
        {toggle('hide_sensitive_data', 'Hide sensitive data', 'Clients get of a feature what they need to decide, not its description, dates and first value.')}
        {toggle('allow_client_traits', 'Clients may set traits', 'Off: traits come from servers only, with a server key.')}
        {toggle('use_identity_overrides_in_local_eval', 'Identity overrides for local evaluation', 'Clients with a server key also get the overrides of single identities.')}
      </Sheet>
      <Versioning environment={e} />
      <Sheet title="Copy it" text="A new environment with the same flags and overrides; identities, keys and webhooks are not copied.">
        <NewRow
          label="Name of the copy"
          button="Make the copy"
          make={async name => {
            const made = await write<Environment>('POST', `${path}clone/`, { name }, { label: `Environment ${name} made`, models, quiet: true })
            route(environmentLink(project, made.api_key, 'settings'))
          }}
        />
      </Sheet>
      <DeleteSheet
        kind="environment"
        name={e.name}
        text="With all its overrides, identities and keys. Programs that use its keys get no flags any more."
        warning="This cannot be undone."
        run={async () => {
          await write('DELETE', path, undefined, { label: `Environment ${e.name} deleted`, models, quiet: true })
          route(`/projects/${project}`)
        }}
      />
    </div>
  )
}

type Patch = (change: Partial<Settings>, label: string) => Promise<unknown>

function Names({ environment: e, patch }: { environment: Settings; patch: Patch }) {
  const { form, field } = useDraft({ name: e.name, description: e.description ?? '', banner_text: e.banner_text ?? '' }, draft => patch({ ...draft, banner_text: draft.banner_text || null }, `${draft.name} saved`), { name: `settings of environment ${e.id}` })
  return (
    <Form form={form} button="Save">
      <Field label="Name" required autocomplete="off" {...field('name')} />
      <Field label="Description" autocomplete="off" {...field('description')} />
      <Field label="Banner" autocomplete="off" hint="A line for people who work in this environment." {...field('banner_text')} />
    </Form>
  )
}

function Versioning({ environment: e }: { environment: Settings }) {
  const [ending, setEnding] = useState(false)
  const all = ['Environment', 'FeatureState', 'FeatureSegment', 'EnvironmentFeatureVersion']
  const path = `/api/v1/environments/${encodeURIComponent(e.api_key)}/`
  return (
    <Sheet title="Versions of features">
      <Setting
        title="Keep versions"
        text="Every change of a feature here becomes a version, which can be prepared, scheduled and looked up."
        on={e.use_v2_feature_versioning}
        change={async on => {
          if (on) await write('POST', `${path}enable-v2-versioning/`, undefined, { label: `${e.name} keeps versions`, models: all })
          else setEnding(true)
        }}
      />
      {ending && (
        <Confirm
          title={`No more versions in ${e.name}?`}
          button="Keep only what is live"
          close={() => setEnding(false)}
          run={() => write('POST', `${path}disable-v2-versioning/`, undefined, { label: `${e.name} keeps no versions`, models: all, quiet: true })}
        >
          What is live stays as it is. Drafts, scheduled and past versions are lost.
        </Confirm>
      )}
    </Sheet>
  )
}
