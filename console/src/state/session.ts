import { signal } from '@preact/signals'
import { messageOf } from '../api/error'
import { forgetQueries } from '../api/query'
import { get, request, whenUnauthenticated } from '../api/request'
import { forgetToken, hasToken, setToken } from '../api/token'
import type { User } from '../api/types'
import { closeLive, openLive, refreshNodes } from './live'
import { failed } from './receipts'

/** Who is signed in: undefined while that is not known, null for nobody. */
export const me = signal<User | null | undefined>(undefined)

/** Why the sign-in page is shown, when somebody was signed out. */
export const notice = signal('')

/** Installation is what it says of itself to those who have not signed in. */
export interface Installation {
  version: string
  has_users: boolean
  registration: 'open' | 'invited' | 'closed'
  mails: boolean
  invite_links: boolean
}

export const installation = signal<Installation | undefined>(undefined)

whenUnauthenticated(() => leave('You were signed out. Please sign in again.'))

/** Why it could not be found out who is signed in, while the nodes do answer. */
export const trouble = signal('')

/** start finds out who is signed in, and which doors there are. */
export async function start() {
  const doors = get<Installation>('/api/flagraft/v1/installation/').then(i => (installation.value = i))
  try {
    if (hasToken()) await enter()
    trouble.value = ''
  } catch (e) {
    trouble.value = hasToken() ? messageOf(e) : '' // without a token any more: it was refused, which the sign-in page says
  }
  await doors.catch(() => {}) // Offline says so
  if (installation.value && trouble.value === '') me.value ??= null
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
  sign_up_type?: 'INVITE_EMAIL' | 'INVITE_LINK'
  invite_hash?: string
}

export async function register(account: Registration) {
  const { data } = await request<{ key: string; is_active: boolean }>('POST', '/api/v1/auth/users/', { body: account })
  if (!data.is_active) throw new Error('Your account is made. Follow the link in the mail that we have sent you, then sign in.')
  if (installation.value) installation.value = { ...installation.value, has_users: true }
  await admit(data.key, true)
}

async function admit(token: string, stay: boolean) {
  setToken(token, stay)
  await enter()
}

/** signOut forgets the token here. */
export const signOut = () => leave('')

/** signOutEverywhere also has the server forget it, for all browsers and programs that use it. */
export async function signOutEverywhere() {
  try {
    await request('POST', '/api/v1/auth/logout/')
  } catch (e) {
    failed('You are still signed in everywhere', messageOf(e))
    return
  }
  signOut()
}

/** leave forgets who is signed in and says why. */
export function leave(why: string) {
  closeLive()
  forgetToken()
  forgetQueries()
  me.value = null
  notice.value = why
}
