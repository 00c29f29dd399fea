// The official JavaScript client's browser build in a real Chromium: a page of another
// origin than the API, with CORS, localStorage and EventSource as a visitor has them.
import { createServer } from 'node:http'
import { readFileSync } from 'node:fs'
import { chromium } from 'playwright-core'
import { check, done, world, setLive } from '../lib/check.mjs'

const files = {
  '/': ['text/html', '<!doctype html><title>Shop</title><p>flags</p>'],
  '/flagsmith.mjs': ['text/javascript', readFileSync('node_modules/@flagsmith/flagsmith/index.mjs')],
  '/cases.mjs': ['text/javascript', readFileSync('../lib/js-cases.mjs')],
}
const server = createServer((request, response) => {
  const [type, body] = files[request.url] ?? []
  response.writeHead(type ? 200 : 404, { 'Content-Type': type ?? 'text/plain' }).end(body ?? '')
})
await new Promise(ready => server.listen(0, '127.0.0.1', ready))

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM, headless: true,
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
    '--disable-component-update', '--disable-sync'],
})
const page = await browser.newPage()
page.on('pageerror', e => console.error(`page: ${e}`))
await page.exposeFunction('setLive', setLive)
// Each case of the page is one of ours: report(name, error or null).
await page.exposeFunction('report', (name, problem) => check(name, () => { if (problem) throw new Error(problem) }))
await page.goto(`http://127.0.0.1:${server.address().port}/`)
const { clientKey, api, realtime } = world
await page.evaluate(async world => {
  const { createFlagsmithInstance } = await import('/flagsmith.mjs')
  const { cases } = await import('/cases.mjs')
  const check = async (name, body) => {
    try {
      await body()
      await window.report(name, null)
    } catch (e) {
      await window.report(name, String(e?.message ?? e))
    }
  }
  await cases({ createFlagsmithInstance, check, world, setLive: window.setLive, storage: true })
}, { clientKey, api, realtime })
await browser.close()
server.close()
done()
