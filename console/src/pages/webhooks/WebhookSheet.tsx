import { useState } from 'preact/hooks'
import { write } from '../../api/write'
import { Confirm } from '../../parts/Confirm'
import { Sheet } from '../../parts/Sheet'
import { Switch } from '../../parts/Switch'
import { Deliveries } from './Deliveries'
import { WebhookForm } from './WebhookForm'
import { webhookModels, type Owner, type Webhook } from './types'

/** WebhookSheet is one webhook with what became of its events. */
export function WebhookSheet({ owner, hook }: { owner: Owner; hook: Webhook }) {
  const [asking, setAsking] = useState<'change' | 'delete' | null>(null)
  const path = `${owner.base}${hook.id}/`
  const close = () => setAsking(null)
  return (
    <Sheet
      title={hook.url}
      text={hook.secret ? 'Calls are signed.' : 'Calls are not signed.'}
      actions={
        <>
          <Switch
            on={hook.enabled}
            label={`Webhook ${hook.url}`}
            change={on => void write('PATCH', path, { enabled: on }, { label: `Webhook switched ${on ? 'on' : 'off'}`, models: webhookModels }).catch(() => {})}
          />
          <button type="button" class="button small" aria-label={`Change ${hook.url}`} onClick={() => setAsking('change')}>
            Change
          </button>
          <button type="button" class="button small danger" onClick={() => setAsking('delete')}>
            Delete…<span class="visually-hidden"> {hook.url}</span>
          </button>
        </>
      }
    >
      <Deliveries hook={hook} />
      {asking === 'change' && <WebhookForm owner={owner} hook={hook} close={close} />}
      {asking === 'delete' && (
        <Confirm
          title="Delete the webhook?"
          button="Delete the webhook"
          close={close}
          run={() => write('DELETE', path, undefined, { label: 'Webhook deleted', models: webhookModels, quiet: true })}
        >
          What still waits for <strong>{hook.url}</strong> is not sent.
        </Confirm>
      )}
    </Sheet>
  )
}
