import { Waiting } from '../../parts/Waiting'
import { useNamedEnvironment } from '../../state/place'
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
  const { environment, error } = useNamedEnvironment(project, key)
  if (!environment) return <Waiting error={error} />
  if (identity === undefined) return <IdentityList key={key} project={project} environment={environment} />
  return <IdentityPage key={`${key} ${identity}`} project={project} environment={environment} name={identity} flag={flag} />
}
