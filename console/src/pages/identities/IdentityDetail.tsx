import { useLocation } from 'preact-iso'
import { useState } from 'preact/hooks'
import { write } from '../../api/write'
import { environmentLink } from '../../links'
import { Confirm } from '../../parts/Confirm'
import { CopyButton } from '../../parts/CopyButton'
import { Flags } from './Flags'
import { identityPath, overrideModels, type Person } from './identity'
import { Traits } from './Traits'

/** IdentityDetail is what an identity is, and what it gets. */
export function IdentityDetail({ person, flag }: { person: Person; flag: string | undefined }) {
  const { route } = useLocation()
  const [deleting, setDeleting] = useState(false)
  const { identity, environment, project } = person
  const list = environmentLink(project, environment.api_key, 'identities')
  return (
    <div class="page">
      <nav class="crumbs" aria-label="Above">
        <a href={list}>Identities</a>
      </nav>
      <div class="page-head identity-head">
        <h1>
          <span class="identity-name">{identity.identifier}</span>
          <CopyButton text={identity.identifier} label="Copy the identifier" />
        </h1>
        <button type="button" class="button danger" onClick={() => setDeleting(true)}>
          Delete…
        </button>
      </div>
      <p class="page-lead">
        In {environment.name}
        {identity.dashboard_alias && <>, also called {identity.dashboard_alias}</>}. <span class="mono identity-uuid">{identity.identity_uuid}</span>
      </p>
      <div class="page-columns identity">
        <Flags person={person} opened={flag} />
        <Traits person={person} />
      </div>
      {deleting && (
        <Confirm
          title="Delete this identity?"
          button="Delete the identity"
          close={() => setDeleting(false)}
          run={async () => {
            await write('DELETE', identityPath(person), undefined, { label: `Identity ${identity.identifier} deleted`, models: overrideModels })
            route(list, true)
          }}
        >
          Its traits and overrides go with it. A program that names {identity.identifier} again makes it anew, without them.
        </Confirm>
      )}
    </div>
  )
}
