import { useState } from 'preact/hooks'
import { patchQuery } from '../../api/query'
import type { Feature, Tag } from '../../api/types'
import { write } from '../../api/write'
import { Confirm } from '../../parts/Confirm'
import { Field } from '../../parts/Field'
import { Overtaken } from '../../parts/Overtaken'
import { Switch } from '../../parts/Switch'
import { useDraft } from '../../parts/useForm'
import { useTicks } from '../../parts/useTicks'
import { featureModels, featuresPath, type Spot } from './flag'

/** SettingsTab is what a feature has in common in all environments. */
export function SettingsTab({ spot, tags, gone }: { spot: Spot; tags: Tag[]; gone: () => void }) {
  const { feature, project } = spot
  const [deleting, setDeleting] = useState(false)
  const path = `/api/v1/projects/${project}/features/${feature.id}/`
  const patch = (change: Partial<Feature>, label: string, undo?: () => unknown) => write('PATCH', path, change, { label, models: featureModels, undo })
  const { dirty, form, field } = useDraft(
    { description: feature.description ?? '' },
    ({ description }) => patch({ description }, `Description of ${feature.name} changed`, () => patch({ description: feature.description }, `Description of ${feature.name} as before`)),
    { name: `description of ${feature.id}` },
  )
  const ticks = useTicks(feature.tags)
  const tag = (t: Tag) => {
    const before = ticks.value
    const has = before.includes(t.id)
    const tags = has ? before.filter(id => id !== t.id) : [...before, t.id]
    return ticks.change(tags, async () => {
      await patch({ tags }, `${feature.name} ${has ? 'no longer has' : 'has'} the tag ${t.label}`, () => patch({ tags: before }, `Tags of ${feature.name} as before`))
      patchQuery<Feature[]>(featuresPath(project, spot.environment.id), all => all.map(f => (f.id === feature.id ? { ...f, tags } : f)))
    })
  }
  return (
    <>
      <form class="inline-form" onSubmit={form.onSubmit}>
        <Field label="Description" autocomplete="off" {...field('description')} error={form.fields.description ?? (form.message || undefined)} />
        <button class="button" disabled={form.busy || !dirty}>
          Save
        </button>
      </form>
      <Overtaken back={form.overtaken} />
      {tags.length > 0 && (
        <fieldset class="block tag-set">
          <legend>Tags</legend>
          {tags.map(t => (
            <label key={t.id} class="tag-choice">
              <input type="checkbox" checked={ticks.value.includes(t.id)} onChange={() => void tag(t).catch(() => {})} />
              <span class="swatch" style={{ background: t.color }} />
              {t.label}
            </label>
          ))}
        </fieldset>
      )}
      <Setting
        title="For servers only"
        text="Client-side keys do not get this feature."
        on={feature.is_server_key_only}
        change={on => patch({ is_server_key_only: on }, `${feature.name} is ${on ? 'for servers only' : 'for all keys'}`)}
      />
      <Setting
        title="Archived"
        text="Leaves the list; programs get it as before."
        on={feature.is_archived}
        change={on => patch({ is_archived: on }, `${feature.name} ${on ? 'archived' : 'in use again'}`, () => patch({ is_archived: !on }, `${feature.name} as before`))}
      />
      <section class="block danger-block">
        <div>
          <h3>Delete this feature</h3>
          <p class="muted">In every environment, with its overrides. Programs that ask for it get their default.</p>
        </div>
        <button type="button" class="button danger" onClick={() => setDeleting(true)}>
          Delete…
        </button>
      </section>
      {deleting && (
        <Confirm
          title={`Delete ${feature.name}?`}
          button="Delete the feature"
          word={feature.name}
          close={() => setDeleting(false)}
          run={async () => {
            await write('DELETE', path, undefined, { label: `${feature.name} deleted`, models: [...featureModels, 'Segment'] })
            gone()
          }}
        >
          It goes in every environment, with its values and overrides. This cannot be undone.
        </Confirm>
      )}
    </>
  )
}

function Setting({ title, text, on, change }: { title: string; text: string; on: boolean; change: (on: boolean) => Promise<unknown> }) {
  return (
    <section class="block setting">
      <div>
        <h3>{title}</h3>
        <p class="muted">{text}</p>
      </div>
      <Switch on={on} label={title} change={on => void change(on).catch(() => {})} />
    </section>
  )
}
