import { expect, test, type Page } from '@playwright/test'
import { api, key, nodes, startDemo } from './demo'
import { many, makeMany } from './many'
import { email, logIn, password } from './world'

// How long a person waits on the features page with a thousand flags, on three nodes: made on demand (make console-measure), on a machine that does
// nothing else. Times are the browser's own, from what the person does until the result is painted and the page takes input again.

test.skip(!process.env.MEASURE, 'MEASURE is not set')

const loads = 7
const switches = 15

let address: string

startDemo()

test.beforeAll(async () => {
  await makeMany(api)
  address = `${nodes[0]!.origin}/projects/1/environments/${key}/features`
})

declare global {
  interface Window {
    shown: (find: () => unknown) => Promise<number>
  }
}

/** watchPaint gives the page shown(): the time at which something was found, painted, and the page idle enough to take input. */
async function watchPaint(page: Page) {
  await page.addInitScript(() => {
    window.shown = async find => {
      while (!find()) await new Promise(requestAnimationFrame)
      await new Promise(done => requestAnimationFrame(() => setTimeout(done)))
      return performance.now()
    }
  })
}

function tell(what: string, times: number[]) {
  const sorted = times.toSorted((a, b) => a - b)
  const ms = (n: number) => `${Math.round(n)} ms`
  console.log(`measured: ${what}: median ${ms(sorted[Math.floor(sorted.length / 2)]!)}, worst ${ms(sorted.at(-1)!)}, of ${sorted.length}`)
}

test(`${many} flags: signing in and opening the page`, async ({ browser }) => {
  test.setTimeout(300_000)
  const signedIn: number[] = []
  const opened: number[] = []
  for (let i = 0; i < loads; i++) {
    const context = await browser.newContext()
    const page = await context.newPage()
    await watchPaint(page)
    await page.goto(address)
    await page.getByLabel('E-mail address').fill(email)
    await page.getByLabel('Password').fill(password)
    signedIn.push(await page.evaluate(async () => {
      const began = performance.now()
      document.querySelector<HTMLElement>('form .primary')!.click()
      return (await window.shown(() => document.querySelectorAll('.feature-row .switch').length > 10)) - began
    }))
    await page.goto(address)
    opened.push(await page.evaluate(() => window.shown(() => document.querySelectorAll('.feature-row .switch').length > 10)))
    await expect(page.getByRole('heading', { level: 1 })).toHaveText(`Features ${many}`)
    await context.close()
  }
  tell('from "Sign in" to the flags, ready', signedIn)
  tell('from opening the address to the flags, ready', opened)
})

test(`${many} flags: searching and switching`, async ({ page }) => {
  test.setTimeout(300_000)
  await watchPaint(page)
  await page.goto(address)
  await logIn(page)
  const found: number[] = []
  const live: number[] = []
  for (let i = 0; i < switches; i++) {
    const name = `flag_${String(50 + i * 60).padStart(4, '0')}`
    await page.getByLabel('Search features').fill('')
    await expect(page.getByRole('heading', { level: 1 })).toHaveText(`Features ${many}`)
    found.push(await page.evaluate(async text => {
      const input = document.querySelector<HTMLInputElement>('.search input')!
      const began = performance.now()
      input.value = text
      input.dispatchEvent(new InputEvent('input', { bubbles: true }))
      return (await window.shown(() => document.querySelectorAll('.feature-row .switch').length === 1)) - began
    }, name))
    await page.waitForTimeout(1000) // what the last change had read again has come
    live.push(await page.evaluate(async label => {
      const began = performance.now()
      document.querySelector<HTMLElement>('.feature-row .switch')!.click()
      return (await window.shown(() => [...document.querySelectorAll('.receipt')].some(r => r.textContent!.includes(`${label} switched`) && r.textContent!.includes('live on 3 of 3')))) - began
    }, name))
  }
  tell('from a key to the flags found', found)
  tell('from a switch to "live on 3 of 3 nodes"', live)
})
