import { useEnvironments } from '../../state/place'
import { IdentityList } from './IdentityList'
import { IdentityPage } from './IdentityPage'
import '../../styles/identities.css'

interface Props {
  project: number
  environment: string
  identity?: string
  flag?: string
}

/** Identities are those of an environment; the address may name one, and a flag that is explained. */
export function Identities({ project, environment: key, identity, flag }: Props) {
  const environment = useEnvironments(project)?.find(e => e.api_key === key)
  if (!environment) return <div class="page" aria-busy="true" />
  if (identity === undefined) return <IdentityList key={key} project={project} environment={environment} />
  return <IdentityPage key={`${key} ${identity}`} project={project} environment={environment} name={identity} flag={flag} />
}
