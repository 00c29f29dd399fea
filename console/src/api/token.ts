import { browser, tab } from './storage'

// The account's token. Only this module knows where it is kept; it is handed to the two places that send it, request.ts and the worker
// (docs/adr/0013-console.md says why it is no cookie).
const key = 'flagraft.token'

let token = tab.get(key) ?? browser.get(key)

/** Whether somebody is signed in. */
export const hasToken = () => token !== null

/** authorization is the header that requests carry, or undefined. */
export const authorization = () => (token === null ? undefined : `Token ${token}`)

/** setToken keeps a token, in this tab only or in this browser. */
export function setToken(value: string, stay: boolean) {
  forgetToken()
  token = value
  const kept = stay ? browser : tab
  kept.set(key, value)
}

/** forgetToken leaves alone what another tab has kept since: who signed in there stays so. */
export function forgetToken() {
  for (const kept of [tab, browser]) {
    if (kept.get(key) === token) kept.remove(key)
  }
  token = null
}
