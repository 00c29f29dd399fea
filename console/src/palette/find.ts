import { useEffect, useState } from 'preact/hooks'
import { useList } from '../api/query'
import { get } from '../api/request'
import type { Feature, Page, Segment } from '../api/types'
import { linkIn, linkTo } from '../links'
import { featureModels, featuresPath } from '../pages/features/flag'
import type { IconName } from '../parts/Icon'
import { offered, pages } from '../routes'
import { environmentKey, projectID, useAdmin, useEnvironment, useEnvironments } from '../state/place'

/** Hit is something to jump to. */
export interface Hit {
  icon: IconName
  name: string
  kind: string
  href: string
}

const perKind = 8

/** useHits finds what matches the words, best first within its kind. */
export function useHits(text: string): Hit[] {
  const environment = useEnvironment()
  const project = projectID.value
  const features = useList<Feature>(environment && project ? featuresPath(project, environment.id) : null, featureModels).data ?? []
  const segments = useList<Segment>(project ? `/api/v1/projects/${project}/segments/` : null, ['Segment']).data ?? []
  const environments = useEnvironments(project) ?? []
  const identities = useIdentities(text)
  const admin = useAdmin()
  const best = <T extends { name: string }>(all: T[], hit: (x: T) => Pick<Hit, 'icon' | 'kind'> & { href: string | null }) =>
    ranked(text, all)
      .map(x => ({ ...hit(x), name: x.name }))
      .flatMap(h => (h.href === null ? [] : [{ ...h, href: h.href }]))

  return [
    ...best(features, f => ({ icon: 'flag', kind: 'Feature', href: linkIn('environment', 'features', f.id) })),
    ...best(segments, s => ({ icon: 'segment', kind: 'Segment', href: linkIn('project', 'segments', s.id) })),
    ...best(identities, i => ({ icon: 'identity', kind: 'Identity', href: linkIn('environment', 'identities', i.id) })),
    ...best(
      pages.filter(p => offered(p, admin)).map(p => ({ name: p.title, page: p })),
      p => ({ icon: p.page.nav!.icon, kind: 'Page', href: linkTo(p.page) }),
    ),
    ...best(environments, e => ({ icon: 'cluster', kind: 'Environment', href: `/projects/${project}/environments/${encodeURIComponent(e.api_key)}/features` })),
  ]
}

/** ranked gives those that hold every word: names that begin with the text first, then those with it at the beginning of a word. */
function ranked<T extends { name: string }>(text: string, all: T[]): T[] {
  const whole = text.trim().toLowerCase()
  const words = whole.split(/\s+/).filter(Boolean)
  const rank = (name: string) => (name.startsWith(whole) ? 0 : new RegExp(`[^a-z0-9]${escape(whole)}`).test(name) ? 1 : 2)
  return all
    .map(x => ({ x, name: x.name.toLowerCase() }))
    .filter(({ name }) => words.every(w => name.includes(w)))
    .sort((a, b) => rank(a.name) - rank(b.name) || a.name.length - b.name.length)
    .slice(0, perKind)
    .map(({ x }) => x)
}

const escape = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')

interface Identity {
  id: number
  identifier: string
}

/** useIdentities asks the server, once the typing pauses. */
function useIdentities(text: string): { name: string; id: number }[] {
  const [found, setFound] = useState<{ name: string; id: number }[]>([])
  const key = environmentKey.value
  const query = text.trim()
  useEffect(() => {
    setFound([])
    if (key === undefined || query.length < 2 || linkIn('environment', 'identities') === null) return
    const asking = new AbortController()
    const timer = setTimeout(() => {
      const path = `/api/v1/environments/${encodeURIComponent(key)}/identities/?q=${encodeURIComponent(query)}&page_size=${perKind}`
      get<Pick<Page<Identity>, 'results'>>(path, { signal: asking.signal })
        .then(p => setFound(p.results.map(i => ({ name: i.identifier, id: i.id }))))
        .catch(() => {})
    }, 150)
    return () => {
      clearTimeout(timer)
      asking.abort()
    }
  }, [key, query])
  return found
}
