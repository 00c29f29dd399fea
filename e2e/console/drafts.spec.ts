import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test, type Page } from '@playwright/test'
import { api, identify, key, nodes, startDemo } from './demo'
import { receipt, signIn } from './world'

// What the page holds goes with what it is of, and follows what others change.

startDemo()

const make = (name: string, more: object = {}) => api.send('POST', '/api/v1/projects/1/features/', { name, ...more })
const here = () => `/projects/1/environments/${key}`
const stored = async (name: string) => (await identify('somebody'))[name]!.feature_state_value
const go = async (page: Page, path: string) => {
  await signIn(page, nodes[0]!.origin)
  await page.goto(nodes[0]!.origin + path)
}
const row = (page: Page, name: string) => page.getByRole('link', { name, exact: true })
const panel = (page: Page) => page.locator('.side-panel')

test('what is typed for one feature is not saved for another', async ({ page }) => {
  await make('first')
  await make('second')
  await go(page, `${here()}/features`)
  for (const name of ['first', 'second', 'first']) {
    await row(page, name).click()
    await expect(panel(page).getByRole('combobox', { name: `Type of Value of ${name}` })).toBeVisible()
  }
  await panel(page).getByRole('combobox', { name: 'Type of Value of first' }).selectOption('Text')
  await panel(page).getByRole('textbox', { name: 'Value of first' }).fill('for the first')
  await row(page, 'second').click()
  await expect(panel(page).getByRole('combobox', { name: 'Type of Value of second' })).toHaveValue('none')
  await expect(panel(page).getByRole('button', { name: 'Save' })).toBeDisabled()
  await panel(page).getByRole('button', { name: 'Close' }).click()
  await expect(row(page, 'second')).toBeFocused()
})

test('a value of several lines keeps them', async ({ page }) => {
  await make('lines', { initial_value: 'one\ntwo' })
  await go(page, `${here()}/features`)
  await page.getByRole('button', { name: /^Value of lines/ }).click()
  const text = panel(page).getByRole('textbox', { name: 'Value of lines' })
  await expect(text).toHaveValue('one\ntwo')
  await text.fill('one\ntwo\nthree')
  await panel(page).getByRole('button', { name: 'Save' }).click()
  await expect(receipt(page, 'lines set to')).toContainText(/live on 3 of 3 nodes/)
  expect(await stored('lines')).toBe('one\ntwo\nthree')
})

test('a variant is no number until one is there', async ({ page }) => {
  await make('numbers')
  await go(page, `${here()}/features`)
  await row(page, 'numbers').click()
  await panel(page).getByRole('button', { name: 'Add a variant' }).click()
  await panel(page).getByRole('combobox', { name: 'Type of Value of the new variant' }).selectOption('Number')
  await panel(page).getByLabel('Value of the new variant', { exact: true }).fill('')
  await expect(panel(page).getByRole('button', { name: 'Add', exact: true })).toBeDisabled()
})

test('a trait of 64 bits is shown exactly, and comes back when it was removed', async ({ page }) => {
  await identify('long', { number: 1 })
  const path = `/api/v1/environments/${key}`
  const { id } = (await api.send('GET', `${path}/identities/?q="long"`)).results[0]
  const { identity_uuid } = (await api.send('GET', `${path}/edge-identities/?q="long"`)).results[0]
  const set = await fetch(`${nodes[0]!.origin}/api/v1/identities/`, {
    method: 'POST',
    headers: { 'X-Environment-Key': key, 'Content-Type': 'application/json' },
    body: '{"identifier":"long","traits":[{"trait_key":"number","trait_value":1234567890123456789}]}',
  })
  expect(set.status, identity_uuid).toBe(200)
  await go(page, `${here()}/identities/${id}`)
  await expect(page.locator('.trait-value')).toHaveText('1234567890123456789')
  await page.getByRole('button', { name: 'Remove number' }).click()
  await expect(page.locator('.trait-value')).toHaveCount(0)
  await receipt(page, 'Trait number removed').getByRole('button', { name: 'Undo' }).click()
  await expect(page.locator('.trait-value')).toHaveText('1234567890123456789')
})

test('a banner that somebody else set is not lost', async ({ page }) => {
  await go(page, `${here()}/settings`)
  await expect(page.getByLabel('Banner')).toHaveValue('')
  await api.send('PATCH', `/api/v1/environments/${key}/`, { banner_text: 'careful' })
  await expect(page.getByLabel('Banner')).toHaveValue('careful')
})

test('the example for another environment does not hold the key of this one', async ({ page }) => {
  const made = await api.send('POST', `/api/v1/environments/${key}/api-keys/`, { name: 'mine' })
  await go(page, `${here()}/keys/node`)
  const example = page.getByRole('region', { name: 'Example' })
  await page.getByLabel('Key', { exact: true }).selectOption(made.key)
  await expect(example).toContainText(made.key)
  const production = (await api.environments()).find(e => e.name === 'Production')!
  await page.locator('.environment-switch button, button.environment-switch').first().click()
  await page.getByRole('menuitemradio', { name: 'Production' }).click()
  await expect(example).toContainText(production.api_key)
  await expect(example).not.toContainText(made.key)
})

test('what is not there is said', async ({ page }) => {
  for (const [path, text] of [
    ['/projects/1/environments/nope/settings', 'No Environment matches'],
    ['/projects/1/environments/nope/identities', 'There is no such environment.'],
    ['/projects/77/settings', 'No Project matches'],
    ['/organisations/99/members', 'There is no such organisation.'],
  ] as const) {
    await go(page, path)
    await expect(page.getByRole('main')).toContainText(text)
    await page.evaluate(() => localStorage.clear())
  }
})

test('segments of a feature go from the list with it, and counts follow', async ({ page }) => {
  const feature = await make('doomed')
  await api.send('POST', '/api/v1/projects/1/segments/', { name: 'of the doomed', feature: feature.id, project: 1, rules: [{ type: 'ALL', rules: [{ type: 'ANY', conditions: [{ operator: 'EQUAL', property: 'p', value: 'v' }] }] }] })
  await go(page, `${here()}/features`)
  const nav = page.getByRole('navigation', { name: 'Main' })
  await nav.getByRole('link', { name: 'Project settings' }).click()
  const count = (await api.send('GET', '/api/v1/projects/1/')).total_features
  await expect(page.getByText(`${count} of 1,000 features`)).toBeVisible()
  await nav.getByRole('link', { name: 'Segments' }).click()
  await expect(page.getByText('of the doomed')).toBeVisible()
  await nav.getByRole('link', { name: 'Features' }).click()
  await row(page, 'doomed').click()
  await panel(page).getByRole('tab', { name: 'Settings' }).click()
  await panel(page).getByRole('button', { name: 'Delete…' }).click()
  await page.getByRole('dialog').getByRole('textbox').fill('doomed')
  await page.getByRole('button', { name: 'Delete the feature' }).click()
  await nav.getByRole('link', { name: 'Segments' }).click()
  await expect(page.getByText('of the doomed')).toHaveCount(0)
  await nav.getByRole('link', { name: 'Project settings' }).click()
  await expect(page.getByText(`${count - 1} of 1,000 features`)).toBeVisible()
})

test('a change whose answer breaks off is asked about at another node', async ({ page }) => {
  await make('broken off')
  let broken = 0
  const between = createServer((asked, answer) => {
    const breaks = asked.method === 'PATCH'
    const on = request(nodes[0]!.origin + asked.url, { method: asked.method!, headers: asked.headers }, from => {
      answer.writeHead(from.statusCode!, from.headers)
      if (!breaks) return void from.pipe(answer)
      from.once('data', (part: Buffer) => answer.write(part.subarray(0, 5), () => (broken++, answer.destroy())))
    })
    on.on('error', () => answer.destroy())
    answer.on('close', () => on.destroy())
    asked.pipe(on)
  })
  await new Promise<void>(done => between.listen(0, '127.0.0.1', done))
  try {
    const origin = `http://127.0.0.1:${(between.address() as AddressInfo).port}`
    await signIn(page, origin)
    await page.getByRole('switch', { name: 'broken off' }).click()
    await expect(receipt(page, 'broken off switched on')).toContainText(/live on 3 of 3 nodes/)
    expect(broken).toBe(1)
  } finally {
    between.closeAllConnections()
    between.close()
  }
})

test('another environment is looked at with the same filters, and long values leave the next one in sight', async ({ page }) => {
  const { id } = await make('long_json', { initial_value: JSON.stringify(Array.from({ length: 200 }, (_, n) => ({ n }))) })
  await go(page, `${here()}/features/${id}/compare?q=long`)
  for (const name of [/^Development/, /^Production/]) await expect(panel(page).getByRole('row', { name })).toContainText('{"n":199}')
  await expect(panel(page).getByRole('link', { name: 'Production' })).toBeInViewport()
  await panel(page).getByRole('button', { name: 'Close' }).click()
  await page.getByRole('button', { name: /^Environment: / }).click()
  await page.getByRole('menuitemradio', { name: 'Production' }).click()
  await expect(page).not.toHaveURL(new RegExp(key))
  await expect(page).toHaveURL(/features\?q=long$/)
  await expect(page.getByLabel('Search features')).toHaveValue('long')
  await expect(page.getByRole('switch')).toHaveCount(1)
})
