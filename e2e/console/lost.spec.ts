import { readFileSync } from 'node:fs'
import { expect, test, type Page } from '@playwright/test'
import { api, key, nodes, startDemo } from './demo'
import { calm, signIn, watch } from './world'

startDemo()

const prefixes: Record<string, string> = {
  environment: '/projects/:project/environments/:environment',
  project: '/projects/:project',
  organisation: '/organisations/:organisation',
  installation: '',
}

/** addresses are those of every page in the console's table, as it is and with all that its address may name besides. */
async function addresses(): Promise<string[]> {
  const table = readFileSync(process.env.CONSOLE_ROUTES!, 'utf8')
  const rows = [...table.matchAll(/^ +\{ scope: '(\w+)', path: '([^']*)', title:/gm)]
  expect(rows).toHaveLength([...table.matchAll(/^ +\{ scope:/gm)].length)
  const identity = await api.send('POST', `/api/v1/environments/${key}/identities/`, { identifier: 'somebody' })
  const values: Record<string, string> = {
    project: '1', environment: key, organisation: '1', feature: '4', tab: '', segment: '1', identity: identity.id, flag: 'banner_text', language: 'python', kind: 'user', id: '1',
  }
  const tabs: Record<string, string> = { features: 'history', members: 'groups' }
  const fill = (path: string) => path.replace(/:(\w+)\??/g, (_, name: string) => {
    expect(values, `an example of :${name} in ${path}`).toHaveProperty(name)
    return name === 'tab' ? tabs[path.split('/').findLast(part => part in tabs)!]! : values[name]!
  })
  return [...new Set(rows.flatMap(([, scope, path]) => [path!.replace(/\/:\w+\?/g, ''), path!].map(p => fill(prefixes[scope!]! + p) || '/')))]
}

/** What every page asks, whatever it is about. */
const shell = /^\/api\/(flagraft\/v1\/(nodes|installation|events)\/|v1\/(auth\/|organisations\/$|projects\/$|environments\/$))/

/** Tab is a page with the addresses that it has read, at the node that it came from and at others. */
interface Tab {
  path: string
  page: Page
  before: Set<string>
  after: Set<string>
}

test('every page goes on with another node when its own is lost', async ({ context }) => {
  test.setTimeout(300_000)
  const lost = nodes[2]!
  await signIn(await context.newPage(), lost.origin)
  const tabs: Tab[] = []
  for (const path of await addresses()) {
    const tab: Tab = { path, page: await context.newPage(), before: new Set(), after: new Set() }
    watch(tab.page)
    tab.page.on('response', answer => {
      const url = new URL(answer.url())
      if (answer.ok() && answer.request().method() === 'GET' && url.pathname.startsWith('/api/') && !shell.test(url.pathname)) (url.origin === lost.origin ? tab.before : tab.after).add(url.pathname)
    })
    await tab.page.goto(lost.origin + path)
    await stands(tab.page)
    tabs.push(tab)
  }
  await lost.kill()
  const banner = new RegExp(`Node ${new URL(lost.origin).host} lost, going on with (${nodes.slice(0, 2).map(n => new URL(n.origin).host).join('|')})`)
  for (const { path, page, before, after } of tabs) {
    await test.step(path, async () => {
      await expect(page.getByRole('alert').filter({ hasText: banner })).toBeVisible()
      if (before.size > 0) await expect.poll(() => [...after].filter(p => before.has(p)).length, `${path} is read again`).toBeGreaterThan(0)
      await stands(page)
      await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Features', exact: true }).click()
      await expect(page.getByRole('switch', { name: 'banner_text' })).toBeVisible()
      calm(page)
    })
  }
  expect(tabs.filter(t => t.before.size === 0).map(t => t.path)).toEqual(['/account', '/'])
})

/** stands demands that the page shows what it is about, and has no more to wait for. */
async function stands(page: Page) {
  const main = page.getByRole('main')
  await expect(main.getByRole('heading').first()).toBeVisible()
  await expect(main.locator('.page[aria-busy=true]')).toHaveCount(0)
  await expect(main.locator('.empty, .field-error').filter({ hasText: /No node|fail|error/i })).toHaveCount(0)
}
