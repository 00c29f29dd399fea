import { useLocation } from 'preact-iso'
import { useRef, useState } from 'preact/hooks'
import type { Environment, Organisation, Project } from '../api/types'
import { write } from '../api/write'
import { environmentLink } from '../links'
import { Field } from '../parts/Field'
import { FormDialog } from '../parts/FormDialog'
import { useForm } from '../parts/useForm'
import { go } from '../state/place'

interface Props {
  /** Without one, it is made too. */
  organisation: Organisation | undefined
  close: () => void
}

const environments = ['Development', 'Production']

/** NewProject makes a project with two environments, and an organisation when there is none. */
export function NewProject({ organisation, close }: Props) {
  const { route } = useLocation()
  const [name, setName] = useState('')
  const [owner, setOwner] = useState('')
  // What is there already, so that a second try goes on from it.
  const [made, setMade] = useState(organisation)
  const [project, setProject] = useState<Project>()
  const first = useRef<Environment[]>([])
  const form = useForm(async () => {
    const home = made ?? (await write<Organisation>('POST', '/api/v1/organisations/', { name: owner }, { label: `Organisation ${owner} made`, models: ['Organisation'], quiet: true }))
    setMade(home)
    const begun = project ?? (await write<Project>('POST', '/api/v1/projects/', { name, organisation: home.id }, { label: `Project ${name} made`, models: ['Project'], quiet: true }))
    setProject(begun)
    for (const environment of environments.slice(first.current.length)) {
      first.current.push(
        await write<Environment>('POST', '/api/v1/environments/', { name: environment, project: begun.id }, {
          label: `Environment ${environment} made`,
          models: ['Environment'],
          quiet: true,
        }),
      )
    }
    go({ organisation: home.id, project: begun.id })
    close()
    route(environmentLink(begun.id, first.current[0]!.api_key, 'features'))
  })
  return (
    <FormDialog title="New project" close={close} form={form} button="Make the project">
      {!made && <Field label="Organisation" required autofocus autocomplete="organization" value={owner} change={setOwner} error={form.fields.name} hint="Who it belongs to: your company or team." />}
      <Field label="Project" required disabled={!!project} autofocus={!!made} autocomplete="off" value={name} change={setName} error={made ? form.fields.name : undefined}
        hint={`One program or product. It begins with the environments ${environments.join(' and ')}.`} />
    </FormDialog>
  )
}
