import { useQuery } from '../../api/query'
import type { Organisation } from '../../api/types'
import { write } from '../../api/write'
import { Field } from '../../parts/Field'
import { Form } from '../../parts/Form'
import { Setting } from '../../parts/Setting'
import { Sheet } from '../../parts/Sheet'
import { useDraft } from '../../parts/useForm'
import { Waiting } from '../../parts/Waiting'

interface Settings extends Organisation {
  webhook_notification_email: string | null
  restrict_project_create_to_admin: boolean
  force_2fa: boolean
}

const models = ['Organisation']

/** OrganisationSettings is how an organisation behaves. */
export function OrganisationSettings({ organisation }: { organisation: string }) {
  const path = `/api/v1/organisations/${organisation}/`
  const { data: o, error } = useQuery<Settings>(path, models)
  if (!o) return <Waiting error={error} />
  const patch = (change: Partial<Settings>, label: string) => write<Settings>('PATCH', path, change, { label, models })
  return (
    <div class="page">
      <h1>Settings of {o.name}</h1>
      <Sheet title="Organisation">
        <Names key={o.id} organisation={o} patch={patch} />
      </Sheet>
      <Sheet title="Rules">
        <Setting
          title="Everybody has a second factor"
          text="The console asks those who have none to set one up."
          on={o.force_2fa}
          change={on => patch({ force_2fa: on }, `Second factor ${on ? 'asked of everybody' : 'left to everybody'}`)}
        />
        <Setting
          title="Only administrators make projects"
          text="Others may with the permission to create projects."
          on={o.restrict_project_create_to_admin}
          change={on => patch({ restrict_project_create_to_admin: on }, `Projects are made by ${on ? 'administrators only' : 'all members'}`)}
        />
      </Sheet>
    </div>
  )
}

function Names({ organisation: o, patch }: { organisation: Settings; patch: (change: Partial<Settings>, label: string) => Promise<unknown> }) {
  const { form, field } = useDraft({ name: o.name, webhook_notification_email: o.webhook_notification_email ?? '' }, draft => patch({ ...draft, webhook_notification_email: draft.webhook_notification_email || null }, `${draft.name} saved`), { name: `settings of organisation ${o.id}` })
  return (
    <Form form={form} button="Save">
      <Field label="Name" required autocomplete="off" {...field('name')} />
      <Field label="Address for webhooks that fail (optional)" type="email" autocomplete="off" hint="Without: the administrators get the mail." {...field('webhook_notification_email')} />
    </Form>
  )
}
