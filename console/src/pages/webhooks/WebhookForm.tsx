import { useState } from 'preact/hooks'
import { APIError, messageOf } from '../../api/error'
import { request } from '../../api/request'
import { write } from '../../api/write'
import { Dialog } from '../../parts/Dialog'
import { Field } from '../../parts/Field'
import { useForm } from '../../parts/useForm'
import { webhookModels, type Owner, type Webhook } from './types'

interface Props {
  owner: Owner
  hook?: Webhook
  close: () => void
}

/** WebhookForm makes a webhook or changes one; an example can be sent before. */
export function WebhookForm({ owner, hook, close }: Props) {
  const [draft, setDraft] = useState({ url: hook?.url ?? '', secret: hook?.secret ?? '' })
  const [tested, setTested] = useState('')
  const form = useForm(async () => {
    const [method, path] = hook ? (['PATCH', `${owner.base}${hook.id}/`] as const) : (['POST', owner.base] as const)
    await write(method, path, hook ? draft : { ...draft, enabled: true }, { label: hook ? 'Webhook changed' : 'Webhook made', models: webhookModels, quiet: true })
    close()
  })
  const test = async () => {
    setTested('Sending…')
    const body = { webhook_url: draft.url, secret: draft.secret, scope: { type: owner.type, id: owner.id } }
    setTested(await request<{ detail: string; status: number }>('POST', '/api/v1/webhooks/test/', { body, timeout: 20_000 }).then(a => `It answered ${a.data.status}.`, reason))
  }
  return (
    <Dialog title={hook ? 'Change the webhook' : 'New webhook'} close={close}>
      <form class="form" onSubmit={form.onSubmit}>
        <Field label="Address" type="url" autofocus required autocomplete="off" placeholder="https://" value={draft.url} change={url => setDraft({ ...draft, url })} error={form.fields.url} />
        <Field
          label="Secret (optional)"
          autocomplete="off"
          class="input mono"
          value={draft.secret}
          change={secret => setDraft({ ...draft, secret })}
          error={form.fields.secret}
          hint="Signs each call: the header X-Flagsmith-Signature is the HMAC-SHA256 of the body."
        />
        <p role="status">{tested}</p>
        <p class="form-error" role="alert">
          {form.message}
        </p>
        <div class="actions">
          <button type="button" class="button" disabled={draft.url === ''} onClick={() => void test()}>
            Send an example
          </button>
          <button type="button" class="button" onClick={close}>
            Cancel
          </button>
          <button class="button primary" disabled={form.busy}>
            {hook ? 'Save' : 'Make the webhook'}
          </button>
        </div>
      </form>
    </Dialog>
  )
}

/** reason is why a test failed: what the server found out, or what is wrong with the address. */
function reason(e: unknown): string {
  return e instanceof APIError ? (e.fields.body ?? Object.values(e.fields)[0] ?? e.message) : messageOf(e)
}
