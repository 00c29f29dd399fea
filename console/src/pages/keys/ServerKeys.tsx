import { useState } from 'preact/hooks'
import { useQuery } from '../../api/query'
import { write } from '../../api/write'
import { Confirm } from '../../parts/Confirm'
import { Field } from '../../parts/Field'
import { Icon } from '../../parts/Icon'
import { Secret } from '../../parts/Secret'
import { Sheet } from '../../parts/Sheet'
import { Switch } from '../../parts/Switch'
import { Table } from '../../parts/Table'
import { ago, moment } from '../../parts/time'
import { useForm } from '../../parts/useForm'

export interface ServerKey {
  id: number
  key: string
  name: string
  active: boolean
  created_at: string
  expires_at: string | null
}

export const serverKeysPath = (environment: string) => `/api/v1/environments/${encodeURIComponent(environment)}/api-keys/`

const models = ['EnvironmentAPIKey']

/** ServerKeys are the secret keys of an environment. */
export function ServerKeys({ environment }: { environment: string }) {
  const path = serverKeysPath(environment)
  const keys = useQuery<ServerKey[]>(path, models)
  const [name, setName] = useState('')
  const [removing, setRemoving] = useState<ServerKey | null>(null)
  const form = useForm(async () => {
    await write('POST', path, { name }, { label: `Server key ${name} made`, models, environment, quiet: true })
    setName('')
  })
  return (
    <Sheet title="Server keys" text="For your own servers: with one, a program gets all the rules and decides by itself. Keep them secret.">
      {keys.error && <p class="field-error">{keys.error}</p>}
      {!!keys.data?.length && (
        <Table caption="Server keys" head={['Name', 'Key', 'Made', 'On', '-Actions']}>
          {keys.data.map(k => (
            <tr key={k.id}>
              <th scope="row">
                {k.name}
                {k.expires_at && <span class="sub">ends {ago(k.expires_at)}</span>}
              </th>
              <td>
                <Secret text={k.key} label={`Copy the key ${k.name}`} />
              </td>
              <td>
                <time title={moment(k.created_at)}>{ago(k.created_at)}</time>
              </td>
              <td>
                <Switch
                  on={k.active}
                  label={`Key ${k.name}`}
                  change={on =>
                    void write('PATCH', `${path}${k.id}/`, { active: on }, { label: `Server key ${k.name} switched ${on ? 'on' : 'off'}`, models, environment }).catch(() => {})
                  }
                />
              </td>
              <td class="end">
                <button type="button" class="button ghost square small" aria-label={`Remove the key ${k.name}`} onClick={() => setRemoving(k)}>
                  <Icon name="trash" size={16} />
                </button>
              </td>
            </tr>
          ))}
        </Table>
      )}
      <form class="inline-form new-row" onSubmit={form.onSubmit}>
        <Field label="Name of a new server key" autocomplete="off" required value={name} change={setName} error={form.fields.name ?? (form.message || undefined)} />
        <button class="button" disabled={form.busy}>
          Make a server key
        </button>
      </form>
      {removing && (
        <Confirm
          title={`Remove the key ${removing.name}?`}
          button="Remove the key"
          close={() => setRemoving(null)}
          run={() => write('DELETE', `${path}${removing.id}/`, undefined, { label: `Server key ${removing.name} removed`, models, environment, quiet: true })}
        >
          Programs that use it get no flags any more.
        </Confirm>
      )}
    </Sheet>
  )
}
