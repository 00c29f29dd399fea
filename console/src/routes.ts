import type { ComponentType } from 'preact'
import type { Scope } from './links'
import type { IconName } from './parts/Icon'
import { AccountPage } from './pages/account/AccountPage'
import { Audit } from './pages/audit/Audit'
import { Changes } from './pages/audit/Changes'
import { Cluster } from './pages/cluster/Cluster'
import { Features } from './pages/features/Features'
import { Identities } from './pages/identities/Identities'
import { Keys } from './pages/keys/Keys'
import { APIKeys } from './pages/members/APIKeys'
import { Members } from './pages/members/Members'
import { Permissions } from './pages/members/Permissions'
import { EnvironmentSettings } from './pages/settings/EnvironmentSettings'
import { OrganisationSettings } from './pages/settings/OrganisationSettings'
import { ProjectSettings } from './pages/settings/ProjectSettings'
import { EnvironmentWebhooks, OrganisationWebhooks } from './pages/webhooks/Webhooks'
import { Usage } from './pages/usage/Usage'
import { ProjectHome } from './pages/ProjectHome'
import { Segments } from './pages/segments/Segments'
import { Start } from './pages/Start'
import { me } from './state/session'

export interface Page {
  scope: Scope
  /** The address below that of the scope, with :parameters. */
  path: string
  title: string
  component: ComponentType<any>
  /** How the navigation shows it; without: it does not. Some are for superusers or the organisation's administrators alone. */
  nav?: { icon: IconName; superuser?: boolean; admin?: boolean }
}

/** offered tells whether the navigation has a page, for an administrator of the organisation or for others. */
export const offered = (p: Page, admin: boolean) => !!p.nav && (!p.nav.superuser || !!me.value?.is_superuser) && (!p.nav.admin || admin)

/** Every page of the console, in the order of the navigation. */
export const pages: Page[] = [
  { scope: 'environment', path: '/features/:feature?/:tab?', title: 'Features', component: Features, nav: { icon: 'flag' } },
  { scope: 'project', path: '/segments/:segment?', title: 'Segments', component: Segments, nav: { icon: 'segment' } },
  { scope: 'environment', path: '/identities/:identity?/:flag?', title: 'Identities', component: Identities, nav: { icon: 'identity' } },
  { scope: 'environment', path: '/keys/:language?', title: 'SDK keys', component: Keys, nav: { icon: 'key' } },
  { scope: 'environment', path: '/webhooks', title: 'Webhooks', component: EnvironmentWebhooks, nav: { icon: 'webhook' } },
  { scope: 'project', path: '/audit', title: 'Audit log', component: Audit, nav: { icon: 'audit' } },
  { scope: 'environment', path: '/settings', title: 'Environment settings', component: EnvironmentSettings, nav: { icon: 'settings' } },
  { scope: 'project', path: '/settings', title: 'Project settings', component: ProjectSettings, nav: { icon: 'settings' } },
  { scope: 'project', path: '', title: 'Project', component: ProjectHome },
  { scope: 'organisation', path: '/members/:tab?', title: 'Members', component: Members, nav: { icon: 'members' } },
  { scope: 'organisation', path: '/permissions/:kind/:id', title: 'Permissions', component: Permissions },
  { scope: 'organisation', path: '/usage', title: 'Usage', component: Usage, nav: { icon: 'chart', admin: true } },
  { scope: 'organisation', path: '/webhooks', title: 'Webhooks', component: OrganisationWebhooks, nav: { icon: 'webhook', admin: true } },
  { scope: 'organisation', path: '/api-keys', title: 'API keys', component: APIKeys, nav: { icon: 'key', admin: true } },
  { scope: 'organisation', path: '/settings', title: 'Organisation settings', component: OrganisationSettings, nav: { icon: 'settings', admin: true } },
  { scope: 'installation', path: '/cluster', title: 'Cluster', component: Cluster, nav: { icon: 'cluster', superuser: true } },
  { scope: 'installation', path: '/changes', title: 'All changes', component: Changes, nav: { icon: 'audit', superuser: true } },
  { scope: 'installation', path: '/account', title: 'Account', component: AccountPage },
  { scope: 'installation', path: '/', title: 'Projects', component: Start },
]
