import { useLocation } from 'preact-iso'
import { useId, useState } from 'preact/hooks'
import { origin } from '../../api/nodes'
import { useQuery } from '../../api/query'
import type { Feature, Page } from '../../api/types'
import { environmentLink } from '../../links'
import { CopyButton } from '../../parts/CopyButton'
import { Secret } from '../../parts/Secret'
import { Select } from '../../parts/Select'
import { Sheet } from '../../parts/Sheet'
import { Tabs } from '../../parts/Tabs'
import { Waiting } from '../../parts/Waiting'
import { useNamedEnvironment } from '../../state/place'
import { serverKeysPath, ServerKeys, type ServerKey } from './ServerKeys'
import { snippets } from './snippets'

interface Props {
  project: number
  environment: string
  language?: string
}

/** Keys are what programs ask for flags with, and how each language does. */
export function Keys({ project, environment: key, language = 'js' }: Props) {
  const { environment, error } = useNamedEnvironment(project, key)
  if (!environment) return <Waiting error={error} />
  return (
    <div class="page">
      <h1>SDK keys</h1>
      <p class="page-lead">Programs ask any node for the flags of {environment.name}, with one of these keys. Flagsmith's clients work as they are.</p>
      <Sheet title="Client key" text="For browsers and phones, where anybody can read it. It shows what the flags are, not how they are decided.">
        <Secret text={key} label="Copy the client key" />
      </Sheet>
      <ServerKeys environment={key} />
      <Snippets key={key} project={project} environment={key} language={language} />
    </div>
  )
}

function Snippets({ project, environment, language }: { project: number; environment: string; language: string }) {
  const { route } = useLocation()
  const id = useId()
  const servers = useQuery<ServerKey[]>(serverKeysPath(environment), ['EnvironmentAPIKey']).data?.filter(k => k.active)
  const first = useQuery<Page<Feature>>(`/api/v1/projects/${project}/features/?page_size=1`, ['Feature']).data?.results[0]
  const [chosen, setChosen] = useState('')
  const snippet = snippets.find(s => s.key === language) ?? snippets[0]!
  const key = snippet.server && chosen ? chosen : environment
  const code = snippet.code({ url: `${origin.value}/api/v1/`, key, feature: first && !/['"\\$`{}]/.test(first.name) ? first.name : 'my_feature' })
  return (
    <Sheet
      title="In your program"
      text="With the address of the node that answers you now; use a balancer or several nodes in production."
      actions={
        snippet.server &&
        !!servers?.length && (
          <Select hideLabel label="Key" value={chosen} change={setChosen} options={[{ value: '', label: 'Client key' }, ...servers.map(k => ({ value: k.key, label: `Server key: ${k.name}` }))]} />
        )
      }
    >
      <Tabs
        label="Language"
        panel={id}
        chosen={snippet.key}
        tabs={snippets.map(({ key, title }) => ({ key, title }))}
        choose={key => route(environmentLink(project, environment, 'keys', key), true)}
      />
      <div id={id} role="tabpanel" aria-label={snippet.title} class="snippet">
        {snippet.install && (
          <p>
            <Secret text={snippet.install} label="Copy how it is installed" />
          </p>
        )}
        <div class="code-box">
          <div class="code" tabIndex={0} role="region" aria-label="Example">
            <pre>{code}</pre>
          </div>
          <CopyButton text={code} label="Copy the example" />
        </div>
      </div>
    </Sheet>
  )
}
