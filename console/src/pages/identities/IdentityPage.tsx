import { useLocation } from 'preact-iso'
import { useEffect } from 'preact/hooks'
import { useQuery } from '../../api/query'
import type { Environment } from '../../api/types'
import { Empty } from '../../parts/Empty'
import { environmentPath, identityModels, linkOf, type Identity } from './identity'
import { IdentityDetail } from './IdentityDetail'

interface Props {
  project: number
  environment: Environment
  name: string
  flag: string | undefined
}

type Numbered = Pick<Identity, 'id' | 'identifier'>
type Named = Omit<Identity, 'id'>

/** IdentityPage finds the identity by the number that is its address. A uuid, as other tools know it, is replaced by the number. */
export function IdentityPage({ project, environment, name, flag }: Props) {
  const { route } = useLocation()
  const base = environmentPath(environment.api_key)
  const byNumber = /^\d+$/.test(name)
  const numbered = useQuery<Numbered>(byNumber ? `${base}/identities/${name}/` : null, identityModels)
  const exact = numbered.data && new URLSearchParams({ q: `"${numbered.data.identifier}"` })
  const found = useQuery<{ results: Named[] }>(exact ? `${base}/edge-identities/?${exact}` : null, identityModels)

  const named = useQuery<Named>(byNumber ? null : `${base}/edge-identities/${encodeURIComponent(name)}/`, identityModels)
  const identifier = named.data?.identifier
  // The exact search of numbers leaves out quotes, so that one with quotes in it is searched as a part.
  const part = identifier !== undefined && new URLSearchParams({ q: identifier.includes('"') ? identifier : `"${identifier}"` })
  const searched = useQuery<{ results: Numbered[] }>(part ? `${base}/identities/?${part}` : null, identityModels)
  const number = searched.data?.results.find(i => i.identifier === identifier)?.id
  useEffect(() => {
    if (number !== undefined) route(linkOf({ project, environment }, number, flag), true)
  }, [number])

  const other = found.data?.results[0]
  if (numbered.data && other) return <IdentityDetail person={{ project, environment, identity: { ...other, id: numbered.data.id } }} flag={flag} />
  const missing = found.data || (searched.data && number === undefined) ? 'Not found.' : undefined
  const error = numbered.error ?? found.error ?? named.error ?? searched.error ?? missing
  return (
    <div class="page" aria-busy={!error}>
      {error && <Empty icon="alert" title={error} />}
    </div>
  )
}
