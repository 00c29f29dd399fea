import { useLocation } from 'preact-iso'
import { useState } from 'preact/hooks'
import type { Environment } from '../../api/types'
import { write } from '../../api/write'
import { Field } from '../../parts/Field'
import { FormDialog } from '../../parts/FormDialog'
import { useForm } from '../../parts/useForm'
import { environmentPath, identityModels, linkOf, type Identity } from './identity'

/** NewIdentity makes an identity before a program names it: to give it overrides. */
export function NewIdentity({ project, environment, close }: { project: number; environment: Environment; close: () => void }) {
  const { route } = useLocation()
  const [identifier, setIdentifier] = useState('')
  const make = () => write<Pick<Identity, 'id'>>('POST', `${environmentPath(environment.api_key)}/identities/`, { identifier }, { label: `Identity ${identifier} made`, models: identityModels, quiet: true })
  const form = useForm(make, made => {
    close()
    route(linkOf({ project, environment }, made.id))
  })
  return (
    <FormDialog title="New identity" close={close} form={form} button="Make the identity">
      <Field label="Identifier" required autofocus autocomplete="off" spellcheck={false} class="input mono" value={identifier} change={setIdentifier} error={form.fields.identifier}
        hint={`As programs send it. Only in ${environment.name}.`} />
    </FormDialog>
  )
}
