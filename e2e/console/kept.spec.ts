import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test, type Page } from '@playwright/test'
import { api, identify, key, nodes, startDemo } from './demo'
import { logIn, receipt, signIn } from './world'

// What somebody typed stays, whatever they or others do meanwhile; and what others do is shown, whenever they do it.

startDemo('--usage-per-minute', '0')

const make = (name: string, more: object = {}) => api.send('POST', '/api/v1/projects/1/features/', { name, ...more })
const features = () => `${nodes[0]!.origin}/projects/1/environments/${key}/features`
const panel = (page: Page) => page.locator('.side-panel')
const open = async (page: Page, feature: { id: number }, tab = '') => {
  await signIn(page, nodes[0]!.origin)
  await page.goto(`${features()}/${feature.id}${tab && '/' + tab}`)
}

/** between stands before a node; take may answer itself, hold a request, or stop what comes back of it. */
async function between(take: (asked: IncomingMessage, answer: ServerResponse, pass: () => void) => void, piece = (_: IncomingMessage) => true) {
  const server = createServer((asked, answer) => {
    take(asked, answer, () => {
      const on = request(nodes[0]!.origin + asked.url, { method: asked.method!, headers: asked.headers }, from => {
        answer.writeHead(from.statusCode!, from.headers)
        answer.flushHeaders()
        from.on('data', d => piece(asked) && answer.write(d)).on('end', () => answer.end())
      })
      on.on('error', () => answer.destroy())
      answer.on('close', () => on.destroy())
      asked.pipe(on)
    })
  })
  await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
  const close = () => {
    server.closeAllConnections()
    server.close()
  }
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close }
}

const stream = '/api/flagraft/v1/events/'
const toggle = async (name: string, enabled: boolean) => {
  const [state] = (await api.send('GET', `/api/v1/environments/${key}/featurestates/?feature_name=${name}`)).results
  await api.send('PATCH', `/api/v1/environments/${key}/featurestates/${state.id}/`, { enabled })
}

test('what changes before the stream begins is shown', async ({ page }) => {
  await make('early')
  const held: (() => void)[] = []
  const { origin, close } = await between((asked, _, pass) => (asked.url === stream ? held.push(pass) : pass()))
  try {
    await signIn(page, origin)
    await expect(page.getByRole('switch', { name: 'early' })).not.toBeChecked()
    await expect.poll(() => held.length).toBeGreaterThan(0)
    await toggle('early', true)
    held.forEach(pass => pass())
    await expect(page.getByRole('switch', { name: 'early' })).toBeChecked()
  } finally {
    close()
  }
})

test('a node that is cut off from the others is left, also by the stream', async ({ page }) => {
  await make('mine')
  await make('theirs')
  let cut = false
  const { origin, close } = await between(
    (asked, answer, pass) => {
      if (!cut || !['POST', 'PUT', 'PATCH', 'DELETE'].includes(asked.method!)) return pass()
      answer.writeHead(503, { 'Content-Type': 'application/json' }).end('{"detail":"No leader could be reached; nothing was done."}')
    },
    asked => !cut || asked.url !== stream,
  )
  try {
    await signIn(page, origin)
    await toggle('theirs', true)
    await expect(page.getByRole('switch', { name: 'theirs' })).toBeChecked() // the stream is there
    cut = true
    await page.getByRole('switch', { name: 'mine' }).click()
    await expect(receipt(page, 'mine switched on')).toContainText('live on 3 of 3 nodes')
    await expect(page.getByRole('alert').filter({ hasText: `Node ${new URL(origin).host} lost` })).toBeVisible()
    await expect
      .poll(async () => {
        await toggle('theirs', false)
        return page.getByRole('switch', { name: 'theirs' }).isChecked()
      })
      .toBe(false)
  } finally {
    close()
  }
})

test('a page that fails says so, and the others go on', async ({ page }) => {
  const feature = await make('broken')
  await page.route('**/history/*', r => r.fulfill({ json: { results: [{ id: 1 }] } }))
  await signIn(page, nodes[0]!.origin)
  await page.goto(`${features()}/${feature.id}/history`)
  await expect(page.getByRole('main')).toContainText('This page cannot be shown')
  await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Segments' }).click()
  await expect(page.getByRole('heading', { name: 'Segments' })).toBeVisible()
})

test('a draft outlives filters, Escape, another page and a sign-out', async ({ page }) => {
  const feature = await make('draft', { initial_value: 'before' })
  await open(page, feature)
  const text = panel(page).getByRole('textbox', { name: 'Value of draft' })
  await text.fill('typed')
  await page.getByRole('searchbox').first().fill('draf')
  await expect(page).toHaveURL(/draf/)
  await expect(text).toHaveValue('typed')
  await text.press('Escape')
  await expect(panel(page)).toHaveCount(0)
  await page.getByRole('link', { name: 'draft', exact: true }).click()
  await expect(text).toHaveValue('typed')
  await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Segments' }).click()
  await page.goBack()
  await expect(text).toHaveValue('typed')
  await panel(page).getByRole('button', { name: 'Save' }).click()
  await expect(receipt(page, 'draft set to typed')).toBeVisible()
  await expect(panel(page).getByRole('button', { name: 'Save' })).toBeDisabled()
  await text.fill('typed later')
  await page.route('**/api/v1/projects/1/features/**', r => r.fulfill({ status: 401, json: { detail: 'Invalid token.' } }), { times: 1 })
  await make('seen by the page')
  await expect(page.getByText('You were signed out.')).toBeVisible()
  await logIn(page)
  await expect(text).toHaveValue('typed later')
  await text.fill('discarded')
  await panel(page).getByRole('button', { name: 'Discard' }).click()
  await text.press('Escape')
  await page.getByRole('link', { name: 'draft', exact: true }).click()
  await expect(text).toHaveValue('typed')
})

test('an override that is being edited keeps what was typed when another one is saved', async ({ page }) => {
  const feature = await make('for some')
  const ids: number[] = []
  for (const name of ['some a', 'some b', 'some c']) {
    const s = await api.send('POST', '/api/v1/projects/1/segments/', { name, project: 1, rules: [{ type: 'ALL', rules: [{ type: 'ANY', conditions: [{ operator: 'EQUAL', property: 'p', value: name }] }] }] })
    ids.push(s.id)
  }
  const put = (...overrides: [number, string][]) =>
    api.send('PUT', `/api/__future__/environments/${key}/features/${feature.id}/`, {
      segment_overrides: overrides.map(([id, value], priority) => ({ segment: { id }, priority, enabled: true, value: { type: 'string', value }, variants: [] })),
    })
  await put([ids[0]!, 'a'], [ids[1]!, 'b'])
  await open(page, feature, 'overrides')
  const value = (name: string) => panel(page).getByRole('textbox', { name: `Value for ${name}` })
  await value('some a').fill('typed')
  await put([ids[2]!, 'c'], [ids[1]!, 'theirs'], [ids[0]!, 'a'])
  await expect(value('some b')).toHaveValue('theirs')
  await expect(value('some a')).toHaveValue('typed')
  await expect(panel(page).locator('.override-name')).toHaveText(['some c', 'some b', 'some a'])
  await panel(page).getByRole('button', { name: 'Save overrides' }).click()
  await expect(receipt(page, 'Segment overrides of for some changed')).toContainText(/live on 3 of 3 nodes/)
  const { segment_overrides: stored } = await api.send('GET', `/api/__future__/environments/${key}/features/${feature.id}/`)
  expect(stored.toSorted((a: any, b: any) => a.priority - b.priority).map((o: any) => o.value.value)).toEqual(['c', 'theirs', 'typed'])
})

test('a refused value stays in the cell, and a type chosen by mistake takes nothing away', async ({ page }) => {
  const feature = await make('cell', { initial_value: 'a text' })
  await signIn(page, nodes[0]!.origin)
  await page.getByRole('button', { name: /^Value of cell/ }).click()
  const input = page.locator('input.value-input')
  await input.fill('x'.repeat(20_001))
  await input.press('Enter')
  await expect(receipt(page, 'cell set to')).toHaveCount(1)
  await expect(input).toHaveValue('x'.repeat(20_001))
  await input.press('Escape')
  await page.goto(`${features()}/${feature.id}`)
  const type = panel(page).getByRole('combobox', { name: 'Type of Value of cell' })
  for (const other of ['Number', 'Yes or no', 'None']) {
    await type.selectOption(other)
    await type.selectOption('Text')
    await expect(panel(page).getByRole('textbox', { name: 'Value of cell' })).toHaveValue('a text')
  }
})

test('settings that are being typed keep what somebody else did not change', async ({ page }) => {
  await signIn(page, nodes[0]!.origin)
  await page.goto(`${nodes[0]!.origin}/projects/1/environments/${key}/settings`)
  await page.getByLabel('Description').fill('typed')
  await api.send('PATCH', `/api/v1/environments/${key}/`, { banner_text: 'theirs' })
  await expect(page.getByLabel('Banner')).toHaveValue('theirs')
  await expect(page.getByLabel('Description')).toHaveValue('typed')
  await api.send('PATCH', `/api/v1/environments/${key}/`, { banner_text: null })
})

test('a description that somebody else changed is shown, and of two quick tags none is lost', async ({ page }) => {
  const feature = await make('tagged')
  for (const label of ['one', 'two', 'three']) await api.send('POST', '/api/v1/projects/1/tags/', { label, color: '#333333', project: 1 })
  await open(page, feature, 'settings')
  const description = panel(page).getByRole('textbox', { name: 'Description' })
  await expect(description).toHaveValue('')
  await api.send('PATCH', `/api/v1/projects/1/features/${feature.id}/`, { description: 'theirs' })
  await expect(description).toHaveValue('theirs')
  await panel(page).locator('.tag-choice').first().waitFor()
  await page.evaluate(() => {
    for (const name of ['one', 'two', 'three']) [...document.querySelectorAll<HTMLElement>('.tag-choice')].find(e => e.textContent!.includes(name))!.click()
  })
  await expect.poll(async () => (await api.send('GET', `/api/v1/projects/1/features/${feature.id}/`)).tags.length).toBe(3)
})

test('what programs wrote is there when somebody comes back to it', async ({ page }) => {
  await signIn(page, nodes[0]!.origin)
  const nav = page.getByRole('navigation', { name: 'Main' })
  await nav.getByRole('link', { name: 'Identities' }).click()
  await expect(page.getByText('came later')).toHaveCount(0)
  await expect(page.getByRole('main')).not.toContainText('…')
  await nav.getByRole('link', { name: 'Usage' }).click()
  await expect(page.getByRole('heading', { name: '0 requests' })).toBeVisible()
  await nav.getByRole('link', { name: 'Segments' }).click()
  await identify('came later')
  await expect.poll(async () => (await api.send('GET', '/api/v1/organisations/1/usage-data/')).length, { timeout: 90_000, intervals: [12_000] }).toBeGreaterThan(0)
  await nav.getByRole('link', { name: 'Identities' }).click()
  await expect(page.getByText('came later')).toBeVisible()
  await nav.getByRole('link', { name: 'Usage' }).click()
  await expect(page.getByRole('heading', { name: /^[1-9]\d* requests?$/ })).toBeVisible()
})

test('whoever deletes an environment is led to another one', async ({ page }) => {
  const { api_key } = await api.send('POST', '/api/v1/environments/', { name: 'doomed', project: 1 })
  await signIn(page, nodes[0]!.origin)
  await page.goto(`${nodes[0]!.origin}/projects/1/environments/${api_key}/settings`)
  await page.getByRole('button', { name: 'Delete…' }).click()
  await page.getByRole('dialog').getByRole('textbox').fill('doomed')
  await page.getByRole('button', { name: 'Delete the environment' }).click()
  await expect(page.getByRole('switch', { name: 'banner_text' })).toBeVisible()
  expect(page.url()).not.toContain(api_key)
})

test('refusals of permissions and of signing out everywhere are said', async ({ page }) => {
  await signIn(page, nodes[0]!.origin)
  await page.goto(`${nodes[0]!.origin}/organisations/99/permissions/user/3`)
  await expect(page.getByRole('main')).toContainText('You do not have permission')
  await page.evaluate(() => localStorage.removeItem('flagraft.place'))
  await page.goto(`${nodes[0]!.origin}/account`)
  await page.route('**/auth/logout/', r => r.fulfill({ status: 503, json: { detail: 'Not now.' } }))
  await page.getByRole('main').getByRole('button', { name: 'Sign out everywhere' }).click()
  await expect(receipt(page, 'You are still signed in everywhere')).toContainText('Not now.')
})
