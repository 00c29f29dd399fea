import type { Flag } from '../../api/types'
import type { Spot } from './flag'
import { IdentityOverrides } from './IdentityOverrides'
import { SegmentOverrides } from './SegmentOverrides'

/** OverridesTab is who gets something else than the rest. */
export function OverridesTab({ spot, flag }: { spot: Spot; flag: Flag }) {
  return (
    <>
      <SegmentOverrides spot={spot} flag={flag} />
      <IdentityOverrides spot={spot} />
    </>
  )
}
