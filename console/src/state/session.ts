import { signal } from '@preact/signals'
import { forgetQueries } from '../api/query'
import { get, request, whenUnauthenticated } from '../api/request'
import { forgetToken, hasToken, setToken } from '../api/token'
import type { User } from '../api/types'
import { closeLive, openLive, refreshNodes } from './live'

/** Who is signed in: undefined while that is not known, null for nobody. */
export const me = signal<User | null | undefined>(undefined)

/** Why the sign-in page is shown, when somebody was signed out. */
export const notice = signal('')

/** Whether the installation has accounts; undefined while that is not known. */
export const hasUsers = signal<boolean | undefined>(undefined)

interface Version {
  self_hosted_data: { has_users: boolean }
  package_versions: Record<string, string>
}

export const version = signal('')

whenUnauthenticated(() => leave('You were signed out. Please sign in again.'))

/** start finds out who is signed in. */
export async function start() {
  if (hasToken()) {
    await enter().catch(() => {})
    if (me.value) return
  }
  me.value = null
  const v = await get<Version>('/version/')
  hasUsers.value = v.self_hosted_data.has_users
  version.value = v.package_versions.flagraft ?? ''
}

async function enter() {
  const [user] = await Promise.all([get<User>('/api/v1/auth/users/me/'), refreshNodes()])
  me.value = user
  notice.value = ''
  openLive(user.id)
}

/** SecondStep is what the second step of a sign-in needs. */
export interface SecondStep {
  ephemeral_token: string
  method: string
}

/** signIn returns the second step, when there is one. */
export async function signIn(email: string, password: string, stay: boolean): Promise<SecondStep | null> {
  const { data } = await request<{ key: string } | SecondStep>('POST', '/api/v1/auth/login/', { body: { email, password } })
  if (!('key' in data)) return data
  await admit(data.key, stay)
  return null
}

export async function secondStep(step: SecondStep, code: string, stay: boolean) {
  const { data } = await request<{ key: string }>('POST', '/api/v1/auth/login/code/', { body: { ephemeral_token: step.ephemeral_token, code } })
  await admit(data.key, stay)
}

export interface Registration {
  email: string
  password: string
  first_name: string
  last_name: string
  superuser?: boolean
}

export async function register(account: Registration) {
  const { data } = await request<{ key: string }>('POST', '/api/v1/auth/users/', { body: account })
  hasUsers.value = true
  await admit(data.key, true)
}

async function admit(token: string, stay: boolean) {
  setToken(token, stay)
  await enter()
}

/** signOut forgets the token here; everywhere also has the server forget it, for all browsers and programs that use it. */
export async function signOut(everywhere: boolean) {
  if (everywhere) await request('POST', '/api/v1/auth/logout/')
  leave('')
}

function leave(why: string) {
  closeLive()
  forgetToken()
  forgetQueries()
  me.value = null
  hasUsers.value = true
  notice.value = why
}
