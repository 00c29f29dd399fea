import { useQuery } from '../../api/query'
import type { Environment, Flag, FlagState } from '../../api/types'
import { environmentLink } from '../../links'
import { Switch } from '../../parts/Switch'
import { useEnvironments } from '../../state/place'
import { flagPath, save, shown, stateModels, untyped, type Spot } from './flag'
import { sameValue } from './ValueEditor'

/** CompareTab shows what the feature does in each environment, and what is different from here. */
export function CompareTab({ spot }: { spot: Spot }) {
  const environments = useEnvironments(spot.project) ?? []
  const here = useQuery<Flag>(flagPath(spot.environment.api_key, spot.feature.id), stateModels).data
  return (
    <div class="scroll-x">
      <table class="grid">
        <thead>
          <tr>
            <th scope="col">Environment</th>
            <th scope="col">On</th>
            <th scope="col">Value</th>
            <th scope="col">Segments</th>
          </tr>
        </thead>
        <tbody>
          {environments.map(e => (
            <Row key={e.id} spot={spot} environment={e} here={here} />
          ))}
        </tbody>
      </table>
    </div>
  )
}

function Row({ spot, environment, here }: { spot: Spot; environment: Environment; here: Flag | undefined }) {
  const { feature, project } = spot
  const flag = useQuery<Flag>(flagPath(environment.api_key, feature.id), stateModels).data
  const state = flag?.environment_default
  const mine = here?.environment_default
  const differs = (yes: boolean) => (yes ? 'differs' : undefined)
  const flip = (on: boolean): Promise<unknown> =>
    save({ ...spot, environment }, { enabled: on }, `${feature.name} switched ${on ? 'on' : 'off'} in ${environment.name}`, () => flip(!on))
  const isHere = environment.api_key === spot.environment.api_key
  return (
    <tr>
      <th scope="row">
        <a href={environmentLink(project, environment.api_key, 'features', feature.id)}>{environment.name}</a>
        {isHere && <span class="muted"> · here</span>}
      </th>
      <td class={differs(!!state && !!mine && state.enabled !== mine.enabled)}>
        {state && <Switch on={state.enabled} label={`${feature.name} in ${environment.name}`} change={on => void flip(on).catch(() => {})} />}
      </td>
      <td class={differs(!!state && !!mine && !(sameValue(state.value, mine.value) && sameShares(state.variants, mine.variants)))}>
        {state && <span class="mono grid-value">{shown(untyped(state.value))}</span>}
        {state && state.variants.length > 0 && <span class="muted"> + {state.variants.map(v => `${v.weight} %`).join(', ')}</span>}
      </td>
      <td class={differs(!!flag && !!here && flag.segment_overrides.length !== here.segment_overrides.length)}>{flag?.segment_overrides.length}</td>
    </tr>
  )
}

/** sameShares compares what each variant gets; one that is not named gets nothing. */
function sameShares(a: FlagState['variants'], b: FlagState['variants']): boolean {
  const weight = (of: FlagState['variants'], id: number) => of.find(v => v.id === id)?.weight ?? 0
  return [...a, ...b].every(v => weight(a, v.id) === weight(b, v.id))
}
