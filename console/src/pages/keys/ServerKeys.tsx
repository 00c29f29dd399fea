import { useState } from 'preact/hooks'
import { useQuery } from '../../api/query'
import { write } from '../../api/write'
import { Ago } from '../../parts/Ago'
import { Confirm } from '../../parts/Confirm'
import { NewRow } from '../../parts/NewRow'
import { RemoveButton } from '../../parts/RemoveButton'
import { Secret } from '../../parts/Secret'
import { Sheet } from '../../parts/Sheet'
import { Switch } from '../../parts/Switch'
import { Table } from '../../parts/Table'
import { ago } from '../../parts/time'

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
  const [removing, setRemoving] = useState<ServerKey | null>(null)
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
                <Ago time={k.created_at} />
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
                <RemoveButton label={`Remove the key ${k.name}`} remove={() => setRemoving(k)} />
              </td>
            </tr>
          ))}
        </Table>
      )}
      <NewRow label="Name of a new server key" button="Make a server key" make={name => write('POST', path, { name }, { label: `Server key ${name} made`, models, environment, quiet: true })} />
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
