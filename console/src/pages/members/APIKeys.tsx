import { useState } from 'preact/hooks'
import { useList } from '../../api/query'
import { write } from '../../api/write'
import { Ago } from '../../parts/Ago'
import { Confirm } from '../../parts/Confirm'
import { Field } from '../../parts/Field'
import { RemoveButton } from '../../parts/RemoveButton'
import { Secret } from '../../parts/Secret'
import { Sheet } from '../../parts/Sheet'
import { Table } from '../../parts/Table'
import { useForm } from '../../parts/useForm'
import { organisationPath } from './types'

interface Key {
  id: string
  prefix: string
  name: string
  created: string
  expiry_date: string | null
  has_expired: boolean
  key?: string
}

const models = ['MasterAPIKey']

/** APIKeys are for programs that administer the organisation, as Terraform does. */
export function APIKeys({ organisation }: { organisation: string }) {
  const base = `${organisationPath(organisation)}master-api-keys/`
  const keys = useList<Key>(base, models)
  const [draft, setDraft] = useState({ name: '', expiry: '' })
  const [made, setMade] = useState<Key | null>(null)
  const [removing, setRemoving] = useState<Key | null>(null)
  const form = useForm(async () => {
    const expiry_date = draft.expiry ? new Date(draft.expiry).toISOString() : null
    setMade(await write<Key>('POST', base, { name: draft.name, is_admin: true, expiry_date }, { label: `API key ${draft.name} made`, models, quiet: true }))
    setDraft({ name: '', expiry: '' })
  })
  return (
    <div class="page">
      <h1>API keys</h1>
      <p class="page-lead">For programs that administer everything in this organisation, as Terraform or a command line does. Flags are read with SDK keys.</p>
      <Sheet title="New key">
        <form class="inline-form new-row wide" onSubmit={form.onSubmit}>
          <Field label="Name of a new key" autocomplete="off" required value={draft.name} change={name => setDraft({ ...draft, name })} error={form.fields.name ?? (form.message || undefined)} />
          <Field label="Ends (optional)" type="datetime-local" value={draft.expiry} change={expiry => setDraft({ ...draft, expiry })} error={form.fields.expiry_date} />
          <button class="button" disabled={form.busy}>
            Make the key
          </button>
        </form>
        <div role="status">
          {made?.key && (
            <div class="once">
              <strong>Copy the key {made.name} now: it is not shown again.</strong>
              <Secret text={made.key} label="Copy the new key" />
              <span>
                Send it as <code>Authorization: Api-Key …</code>
              </span>
            </div>
          )}
        </div>
      </Sheet>
      <Sheet title="Keys">
        {keys.error && <p class="field-error">{keys.error}</p>}
        {keys.data?.length === 0 && <p class="nothing">There is none yet.</p>}
        {!!keys.data?.length && (
          <Table caption="API keys" head={['Name', 'Begins with', 'Made', 'Ends', '-Actions']}>
            {keys.data.map(k => (
              <tr key={k.id}>
                <th scope="row">{k.name}</th>
                <td>
                  <code>{k.prefix}</code>
                </td>
                <td>
                  <Ago time={k.created} />
                </td>
                <td>{k.expiry_date ? <>{k.has_expired && 'ended '}<Ago time={k.expiry_date} /></> : 'never'}</td>
                <td class="end">
                  <RemoveButton label={`Remove the key ${k.name}`} remove={() => setRemoving(k)} />
                </td>
              </tr>
            ))}
          </Table>
        )}
      </Sheet>
      {removing && (
        <Confirm
          title={`Remove the key ${removing.name}?`}
          button="Remove the key"
          close={() => setRemoving(null)}
          run={() => write('DELETE', `${base}${removing.prefix}/`, undefined, { label: `API key ${removing.name} removed`, models, quiet: true })}
        >
          Programs that use it are refused from now on.
        </Confirm>
      )}
    </div>
  )
}
