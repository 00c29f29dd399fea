import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { chromium, expect, test, type BrowserContext } from '@playwright/test'
import lighthouse, { type Flags } from 'lighthouse'
import desktop from 'lighthouse/core/config/desktop-config.js'
import { key, nodes, startDemo } from './demo'
import { freePorts } from './nodes'
import { signIn } from './world'

// What Lighthouse says of a real node's pages. Every audit of accessibility and best practices counts; performance is only told, as it depends on
// the machine.

startDemo()

const demanded = 95 // of 100

let port: number
let browser: BrowserContext

test.beforeAll(async ({ launchOptions }) => {
  port = (await freePorts(1))[0]!
  // A profile of its own: Lighthouse opens tabs itself, and they are signed in only where all tabs share one.
  const profile = mkdtempSync(join(process.env.E2E_WORK ?? tmpdir(), 'console-'))
  browser = await chromium.launchPersistentContext(profile, { ...launchOptions, args: [...launchOptions.args!, `--remote-debugging-port=${port}`] })
})

test.afterAll(() => browser?.close())

/** judge demands the scores of a page, and that it really was this one: it read this address of the API. */
async function judge(path: string, reads: string, screen: 'desktop' | 'phone' = 'desktop') {
  const flags: Flags = { port, logLevel: 'error', onlyCategories: ['accessibility', 'best-practices'], onlyAudits: ['network-requests'], disableStorageReset: true }
  const { lhr, artifacts } = (await lighthouse(nodes[0]!.origin + path, flags, screen === 'desktop' ? desktop : undefined))!
  expect(artifacts.Trace, 'no recording').toBeUndefined()
  expect(lhr.runtimeError).toBeUndefined()
  const answered = (lhr.audits['network-requests']!.details as any).items.filter((r: any) => r.statusCode === 200).map((r: any) => new URL(r.url).pathname)
  expect(answered).toContain(reads)
  const points = Object.fromEntries(Object.values(lhr.categories).map(c => [c.id, Math.round(c.score! * 100)]))
  console.log(`${path} (${screen}): ${Object.entries(points).map(([name, n]) => `${name} ${n}`).join(', ')}`)
  for (const id of ['accessibility', 'best-practices']) {
    const short = lhr.categories[id]!.auditRefs.map(a => lhr.audits[a.id]!).filter(a => a.score !== null && a.score < 1)
    expect(points[id], short.map(a => `${a.id}: ${JSON.stringify((a.details as any)?.items).slice(0, 1000)}`).join('\n')).toBeGreaterThanOrEqual(demanded)
  }
}

test('sign-in', () => judge('/', '/api/flagraft/v1/installation/'))

test('signed in', async () => {
  test.setTimeout(240_000)
  await signIn(await browser.newPage(), nodes[0]!.origin)
  for (const screen of ['desktop', 'phone'] as const) await judge(`/projects/1/environments/${key}/features`, '/api/v1/projects/1/features/', screen)
  for (const screen of ['desktop', 'phone'] as const) await judge('/projects/1/segments/1', '/api/v1/projects/1/segments/1/', screen)
  for (const screen of ['desktop', 'phone'] as const) await judge('/cluster', '/api/flagraft/v1/cluster/', screen)
})
