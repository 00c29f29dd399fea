import type { ComponentType } from 'preact'
import type { IconName } from './parts/Icon'
import { Audit } from './pages/audit/Audit'
import { Changes } from './pages/audit/Changes'
import { Cluster } from './pages/cluster/Cluster'
import { Features } from './pages/features/Features'
import { Keys } from './pages/keys/Keys'
import { ProjectHome } from './pages/ProjectHome'
import { Segments } from './pages/segments/Segments'
import { Start } from './pages/Start'

/** What a page is about; its address begins accordingly (see prefixes). */
export type Scope = 'environment' | 'project' | 'organisation' | 'installation'

export interface Page {
  scope: Scope
  /** The address below that of the scope, with :parameters. */
  path: string
  title: string
  component: ComponentType<any>
  /** How the navigation shows it; without: it does not. */
  nav?: { icon: IconName; superuser?: boolean }
}

export const prefixes: Record<Scope, string> = {
  environment: '/projects/:project/environments/:environment',
  project: '/projects/:project',
  organisation: '/organisations/:organisation',
  installation: '',
}

/** Every page of the console, in the order of the navigation. */
export const pages: Page[] = [
  { scope: 'environment', path: '/features/:feature?/:tab?', title: 'Features', component: Features, nav: { icon: 'flag' } },
  { scope: 'project', path: '/segments/:segment?', title: 'Segments', component: Segments, nav: { icon: 'segment' } },
  { scope: 'environment', path: '/keys/:language?', title: 'SDK keys', component: Keys, nav: { icon: 'key' } },
  { scope: 'project', path: '/audit', title: 'Audit log', component: Audit, nav: { icon: 'audit' } },
  { scope: 'project', path: '', title: 'Project', component: ProjectHome },
  { scope: 'installation', path: '/cluster', title: 'Cluster', component: Cluster, nav: { icon: 'cluster', superuser: true } },
  { scope: 'installation', path: '/changes', title: 'All changes', component: Changes, nav: { icon: 'audit', superuser: true } },
  { scope: 'installation', path: '/', title: 'Projects', component: Start },
]
