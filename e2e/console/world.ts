import { createHmac } from 'node:crypto'
import { AxeBuilder } from '@axe-core/playwright'
import { expect, type Page } from '@playwright/test'

export const email = 'admin@example.com'
export const password = 'flagraft-Demo-1!' // of --demo

/** API talks to a node as the demo's administrator. */
export class API {
  constructor(private readonly origin: string, private readonly token: string) {}

  static async signIn(origin: string): Promise<API> {
    const anybody = new API(origin, '')
    let key = ''
    await expect.poll(async () => (key = (await anybody.send('POST', '/api/v1/auth/login/', { email, password }).catch(() => ({ key: '' }))).key)).not.toBe('')
    return new API(origin, key)
  }

  async send(method: string, path: string, body?: unknown): Promise<any> {
    const headers: Record<string, string> = { 'Content-Type': 'application/json' }
    if (this.token) headers.Authorization = `Token ${this.token}`
    const answer = await fetch(this.origin + path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) })
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`)
    const text = await answer.text()
    return text ? JSON.parse(text) : null
  }

  /** environments of the demo project: Development and Production. */
  async environments(): Promise<{ id: number; api_key: string; name: string }[]> {
    return (await this.send('GET', '/api/v1/environments/?project=1')).results
  }
}

/** flag is what an SDK gets at a node. */
export async function flag(origin: string, key: string, name: string): Promise<{ enabled: boolean; feature_state_value: unknown }> {
  return (await fetch(`${origin}/api/v1/flags/?feature=${name}`, { headers: { 'X-Environment-Key': key } })).json() as any
}

/** logIn fills in the sign-in page. */
export async function logIn(page: Page, account = { email, password }) {
  await page.getByLabel('E-mail address').fill(account.email)
  await page.getByLabel('Password').fill(account.password)
  await page.getByRole('button', { name: 'Sign in' }).click()
}

/** signIn goes to the features of the demo project. Whatever the page complains about fails the test. */
export async function signIn(page: Page, origin: string) {
  watch(page)
  await page.goto(origin)
  await logIn(page)
  await page.getByRole('link', { name: 'Demo', exact: true }).click()
  await expect(page.getByRole('switch', { name: 'banner_text' })).toBeVisible()
}

const refused = new WeakMap<Page, string[]>()

/** watch notes what the page complains about; see calm. */
export function watch(page: Page) {
  const found: string[] = []
  refused.set(page, found)
  page.on('pageerror', e => found.push(String(e)))
  page.on('dialog', d => {
    found.push(`dialog: ${d.message()}`)
    void d.dismiss()
  })
  page.on('console', m => {
    if (m.type() === 'error' && !/Failed to load resource|ERR_CONNECTION/.test(m.text())) found.push(m.text())
  })
}

/** calm demands that the page complained of nothing: neither an error nor something that its policy refused. */
export const calm = (page: Page) => expect(refused.get(page)).toEqual([])

/**
 * handed gives what ends when the page was handed the next answer to a GET of url. Response.finished() never ends where Chromium counts the request
 * as failed after its answer.
 */
export async function handed(page: Page, url: string) {
  let end = () => {}
  const first = new Promise<void>(done => (end = done))
  let begun = false
  await page.route(url, async r => {
    if (begun || r.request().method() !== 'GET') return r.fallback()
    begun = true
    await r.fulfill({ response: await r.fetch() })
    end()
  })
  return () => first
}

/** totp is the code that an authenticator app shows now (RFC 6238). */
export function totp(secret: string): string {
  const bits = [...secret.replace(/=+$/, '')].map(c => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(c).toString(2).padStart(5, '0')).join('')
  const key = Buffer.from(bits.match(/.{8}/g)!.map(b => parseInt(b, 2)))
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000)))
  const mac = createHmac('sha1', key).update(counter).digest()
  return String((mac.readUInt32BE(mac[19]! & 15) & 0x7fffffff) % 1_000_000).padStart(6, '0')
}

/** receipt is the toast of a change. */
export const receipt = (page: Page, label: string) => page.getByRole('region', { name: 'What became of changes' }).locator('.receipt', { hasText: label })

/** clean demands that axe finds nothing on the page as it is. */
export async function clean(page: Page) {
  await page.emulateMedia({ reducedMotion: 'reduce' }) // text that is fading has too little contrast
  // The legacy mode is for pages without frames of another origin: it needs no second page for each look, which took half the time.
  const { violations } = await new AxeBuilder({ page }).setLegacyMode(true).analyze()
  expect(violations.map(v => `${v.id}: ${v.nodes.map(n => `${n.target.join(' ')} ${n.failureSummary}`).slice(0, 3).join(' | ')}`)).toEqual([])
}

/** fits demands that nothing sticks out at the side, and that nothing one can use is cut off there. */
export async function fits(page: Page) {
  expect(await page.locator('#main').evaluate(main => [document.documentElement.scrollWidth - innerWidth, main.scrollWidth - main.clientWidth])).toEqual([0, 0])
  const cut = await page.locator('#main').evaluate(main =>
    [...main.querySelectorAll<HTMLElement>('a, button, input, select, textarea, h1, h2, h3')]
      .filter(e => !e.closest('.scroll-x, .tabs, .visually-hidden') && e.checkVisibility({ visibilityProperty: true }))
      .filter(e => {
        const box = e.getBoundingClientRect()
        return box.left < 0 || box.right > innerWidth + 0.5
      })
      .map(e => e.outerHTML.slice(0, 120)),
  )
  expect(cut).toEqual([])
}
