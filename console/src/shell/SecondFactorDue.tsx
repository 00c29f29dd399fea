import { useLocation } from 'preact-iso'
import { useQuery } from '../api/query'
import type { Page } from '../api/types'
import { factorModels, factorsPath } from '../pages/account/SecondFactor'
import { Icon } from '../parts/Icon'

/** SecondFactorDue asks those for a second factor whose organisation wants one of everybody. */
export function SecondFactorDue() {
  const { path } = useLocation()
  const wanting = useQuery<Page<{ name: string; force_2fa: boolean }>>('/api/v1/organisations/', ['Organisation', 'OrganisationUser']).data?.results.find(o => o.force_2fa)
  const active = useQuery<unknown[]>(wanting ? factorsPath : null, factorModels).data
  if (!wanting || !active || active.length > 0) return null
  return (
    <p class="banner" role="status">
      <Icon name="lock" />
      <span>{wanting.name} wants everybody to have a second factor.</span>
      {path !== '/account' && (
        <a class="button small" href="/account">
          Set it up
        </a>
      )}
    </p>
  )
}
