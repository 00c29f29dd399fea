import { useState } from 'preact/hooks'
import '../../styles/webhooks.css'
import { useList, useQuery } from '../../api/query'
import { Empty } from '../../parts/Empty'
import { Icon } from '../../parts/Icon'
import { Waiting } from '../../parts/Waiting'
import { useNamedEnvironment, useOrganisations } from '../../state/place'
import { WebhookForm } from './WebhookForm'
import { WebhookSheet } from './WebhookSheet'
import { webhookModels, type Owner, type Webhook } from './types'

/** EnvironmentWebhooks hear of the flags of an environment. */
export function EnvironmentWebhooks({ project, environment: key }: { project: number; environment: string }) {
  const { environment, error } = useNamedEnvironment(project, key)
  const base = `/api/v1/environments/${encodeURIComponent(key)}/webhooks/`
  const hooks = useQuery<Webhook[]>(base, webhookModels)
  if (!environment) return <Waiting error={error} />
  return <Webhooks lead={`Addresses that are called when a flag of ${environment.name} changes.`} owner={{ type: 'environment', id: key, base }} hooks={hooks.data} error={hooks.error} />
}

/** OrganisationWebhooks hear of all environments, and of the audit log. */
export function OrganisationWebhooks({ organisation: id }: { organisation: string }) {
  const organisations = useOrganisations()
  const organisation = organisations?.find(o => o.id === Number(id))
  const base = `/api/v1/organisations/${id}/webhooks/`
  const hooks = useList<Webhook>(base, webhookModels)
  if (!organisation) return <Waiting error={organisations && 'There is no such organisation.'} />
  return (
    <Webhooks
      lead={`Addresses that are called when a flag in any environment of ${organisation.name} changes, and for each line of the audit log.`}
      owner={{ type: 'organisation', id, base }}
      hooks={hooks.data}
      error={hooks.error}
    />
  )
}

interface Props {
  lead: string
  owner: Owner
  hooks: Webhook[] | undefined
  error: string | undefined
}

function Webhooks({ lead, owner, hooks, error }: Props) {
  const [making, setMaking] = useState(false)
  const add = (
    <button type="button" class="button primary" onClick={() => setMaking(true)}>
      <Icon name="plus" size={16} /> New webhook
    </button>
  )
  return (
    <div class="page">
      <div class="page-head">
        <div>
          <h1>Webhooks</h1>
          <p class="page-lead">{lead}</p>
        </div>
        {!!hooks?.length && add}
      </div>
      {error && !hooks && <Empty icon="alert" title={error} />}
      {hooks?.length === 0 && (
        <Empty icon="webhook" title="No webhook yet">
          {add}
        </Empty>
      )}
      {hooks?.map(h => (
        <WebhookSheet key={h.id} owner={owner} hook={h} />
      ))}
      {making && <WebhookForm owner={owner} close={() => setMaking(false)} />}
    </div>
  )
}
