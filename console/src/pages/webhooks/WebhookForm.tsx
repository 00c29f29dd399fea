import { useState } from 'preact/hooks'
import { APIError, messageOf } from '../../api/error'
import { request } from '../../api/request'
import { write } from '../../api/write'
import { Field } from '../../parts/Field'
import { FormDialog } from '../../parts/FormDialog'
import { useDraft } from '../../parts/useForm'
import { webhookModels, type Owner, type Webhook } from './types'

interface Props {
  owner: Owner
  hook?: Webhook
  close: () => void
}

/** WebhookForm makes a webhook or changes one; an example can be sent before. */
export function WebhookForm({ owner, hook, close }: Props) {
  const [tested, setTested] = useState('')
  const { draft, form, field } = useDraft({ url: hook?.url ?? '', secret: hook?.secret ?? '' }, async draft => {
    const [method, path] = hook ? (['PATCH', `${owner.base}${hook.id}/`] as const) : (['POST', owner.base] as const)
    await write(method, path, hook ? draft : { ...draft, enabled: true }, { label: hook ? 'Webhook changed' : 'Webhook made', models: webhookModels, quiet: true })
  }, { done: close })
  const test = async () => {
    setTested('Sending…')
    const body = { webhook_url: draft.url, secret: draft.secret, scope: { type: owner.type, id: owner.id } }
    setTested(await request<{ detail: string; status: number }>('POST', '/api/v1/webhooks/test/', { body, timeout: 20_000 }).then(a => `It answered ${a.data.status}.`, reason))
  }
  return (
    <FormDialog
      title={hook ? 'Change the webhook' : 'New webhook'}
      close={close}
      form={form}
      button={hook ? 'Save' : 'Make the webhook'}
      more={
        <button type="button" class="button" disabled={draft.url === ''} onClick={() => void test()}>
          Send an example
        </button>
      }
    >
      <Field label="Address" type="url" autofocus required autocomplete="off" placeholder="https://" {...field('url')} />
      <Field
        label="Secret (optional)"
        autocomplete="off"
        class="input mono"
        hint="Signs each call: the header X-Flagsmith-Signature is the HMAC-SHA256 of the body."
        {...field('secret')}
      />
      <p role="status">{tested}</p>
    </FormDialog>
  )
}

/** reason is why a test failed: what the server found out, or what is wrong with the address. */
function reason(e: unknown): string {
  return e instanceof APIError ? (e.fields.body ?? Object.values(e.fields)[0] ?? e.message) : messageOf(e)
}
