import { expect, test, type Page } from '@playwright/test'
import { start, type Node } from './nodes'
import { API, calm, clean, fits, receipt, signIn } from './world'

// What is typed is not lost by a slip, buttons may be pressed twice, and what is refused is not shown as if it were so.

test.describe.configure({ mode: 'serial' })

let nodes: Node[]
let api: API
let key: string

test.beforeAll(async () => {
  nodes = await start(1, '--demo')
  api = await API.signIn(nodes[0]!.origin)
  key = (await api.environments()).find(e => e.name === 'Development')!.api_key
})

test.afterAll(() => Promise.all((nodes ?? []).map(n => n.kill())))

const make = (name: string, more: object = {}) => api.send('POST', '/api/v1/projects/1/features/', { name, ...more })
const panel = (page: Page) => page.locator('.side-panel')
const go = async (page: Page, path: string) => {
  await signIn(page, nodes[0]!.origin)
  await page.goto(`${nodes[0]!.origin}/projects/1/environments/${key}${path}`)
}

/** slowly holds every such request for a moment and counts them. */
async function slowly(page: Page, path: string, method: string): Promise<() => number> {
  let asked = 0
  await page.route(path, async r => {
    if (r.request().method() !== method) return r.fallback()
    asked++
    await new Promise(done => setTimeout(done, 1000))
    await r.continue()
  })
  return () => asked
}

test('a dialog does not close over what was typed by a slip', async ({ page }) => {
  await go(page, '/features')
  const dialog = page.getByRole('dialog')
  const outside = () => page.mouse.click(5, 5)
  const again = () => page.getByRole('button', { name: 'New feature' }).click()
  await again()
  await outside()
  await expect(dialog).toHaveCount(0)
  await again()
  await page.keyboard.press('Escape')
  await expect(dialog).toHaveCount(0)
  await expect(page.getByRole('button', { name: 'New feature' })).toBeFocused()
  await page.keyboard.press('Control+k')
  await page.keyboard.press('Escape')
  await expect(page.getByRole('button', { name: 'New feature' })).toBeFocused()
  await again()
  await dialog.getByLabel('Name').fill('precious')
  await outside()
  await expect(dialog.getByRole('alert').filter({ hasText: 'not saved' })).toBeVisible()
  await expect(dialog.getByLabel('Name')).toHaveValue('precious')
  await clean(page)
  await dialog.getByLabel('Name').fill('precious2')
  await page.keyboard.press('Escape')
  await expect(dialog.getByRole('alert').filter({ hasText: 'not saved' })).toBeVisible()
  await expect(dialog.getByLabel('Name')).toHaveValue('precious2')
  await page.keyboard.press('Escape')
  await expect(dialog).toHaveCount(0)
  await expect(page.getByRole('button', { name: 'New feature' })).toBeFocused()
  await again()
  await expect(dialog.getByLabel('Name')).toHaveValue('')
  calm(page)
})

test('what was typed into a cell is there again after a look elsewhere', async ({ page }) => {
  await make('cell', { initial_value: 'old' })
  await go(page, '/features')
  const button = page.getByRole('button', { name: /^Value of cell/ })
  const input = page.getByRole('textbox', { name: 'Value of cell' })
  await button.click()
  await input.fill('typed')
  await page.getByLabel('Search features').click()
  await expect(button).toHaveText('old')
  await button.click()
  await expect(input).toHaveValue('typed')
  await input.press('Escape')
  await button.click()
  await expect(input).toHaveValue('old')
})

test('a description and a new value keep their lines', async ({ page }) => {
  const { id } = await make('described', { description: 'one\ntwo' })
  await go(page, `/features/${id}/settings`)
  const description = panel(page).getByRole('textbox', { name: 'Description' })
  await description.press('ControlOrMeta+End')
  await description.pressSequentially('!')
  await panel(page).getByRole('button', { name: 'Save' }).click()
  await expect(receipt(page, 'Description of described changed')).toBeVisible()
  expect((await api.send('GET', `/api/v1/projects/1/features/${id}/`)).description).toBe('one\ntwo!')
  await page.getByRole('button', { name: 'New feature' }).click()
  await page.getByRole('dialog').getByLabel('Name').fill('yaml')
  await page.getByRole('dialog').getByLabel('Value').evaluate((e: HTMLInputElement) => {
    e.focus()
    document.execCommand('insertText', false, 'a:\n  b: 1')
  })
  await clean(page)
  await page.getByRole('button', { name: 'Make the feature' }).click()
  await expect(receipt(page, 'yaml made')).toBeVisible()
  expect((await api.send('GET', '/api/v1/projects/1/features/?search=yaml')).results[0].initial_value).toBe('a:\n  b: 1')
})

test('a button that is pressed twice does one thing', async ({ page }) => {
  const { id } = await make('twice', { initial_value: 'old' })
  await api.send('PUT', `/api/v1/environments/${key}/edge-identities-featurestates`, { identifier: 'bob', feature: id, enabled: true, feature_state_value: 'own' })
  await go(page, `/features/${id}`)
  await panel(page).getByRole('textbox', { name: 'Value of twice' }).fill('new')
  const saved = await slowly(page, '**/api/__future__/**', 'PATCH')
  await panel(page).getByRole('button', { name: 'Save' }).dblclick({ delay: 50 })
  await expect(receipt(page, 'twice set to new')).toHaveCount(1)
  await expect(panel(page).getByRole('button', { name: 'Save' })).toBeDisabled()
  expect(saved()).toBe(1)
  await panel(page).getByRole('tab', { name: 'Overrides' }).click()
  await panel(page).getByLabel('Add an override for a segment').selectOption({ index: 1 })
  const overridden = await slowly(page, '**/api/__future__/**', 'PUT')
  await panel(page).getByRole('button', { name: 'Save overrides' }).dblclick({ delay: 50 })
  await expect(receipt(page, 'Segment overrides of twice changed')).toHaveCount(1)
  await expect(panel(page).getByRole('button', { name: 'Save overrides' })).toBeDisabled()
  expect(overridden()).toBe(1)
  const removed = await slowly(page, '**/edge-identities-featurestates', 'DELETE')
  await panel(page).getByRole('button', { name: 'Remove the override for bob' }).dblclick({ delay: 50 })
  await expect(panel(page).getByText('bob', { exact: true })).toHaveCount(0)
  expect(removed()).toBe(1)
  await panel(page).getByRole('tab', { name: 'History' }).click()
  const undone = await slowly(page, '**/api/__future__/**', 'PATCH')
  await page.locator('.history-event', { has: page.locator('ins', { hasText: /^new$/ }) }).getByRole('button', { name: /^Undo/ }).last().dblclick({ delay: 50 })
  await expect(receipt(page, 'twice as before')).toHaveCount(1)
  expect(undone()).toBe(1)
  await api.send('POST', `/api/v1/projects/1/features/${id}/mv-options/`, { feature: id, type: 'unicode', string_value: 'variant', default_percentage_allocation: 0 })
  await panel(page).getByRole('tab', { name: 'Value' }).click()
  const dropped = await slowly(page, '**/mv-options/**', 'DELETE')
  await panel(page).getByRole('button', { name: 'Remove', exact: true }).dblclick({ delay: 50 })
  await expect(receipt(page, 'Variant removed')).toHaveCount(1)
  expect(dropped()).toBe(1)
  await expect(page.locator('.receipt.failed')).toHaveCount(0)
})

test('a schedule that is run by two presses takes one backup', async ({ page }) => {
  await api.send('POST', '/api/flagraft/v1/backups/schedules/', { name: 'twice', when: '6h', target: 'twice', keep: 1 })
  await signIn(page, nodes[0]!.origin)
  await page.getByRole('link', { name: 'Cluster' }).click()
  const run = await slowly(page, '**/schedules/*/run/', 'POST')
  await page.getByRole('button', { name: 'Run now' }).dblclick({ delay: 50 })
  await expect(receipt(page, 'A backup of twice')).toHaveCount(1)
  expect(run()).toBe(1)
})

test('what is typed while a save is under way stays', async ({ page }) => {
  const { id } = await make('quick', { initial_value: 'old', description: 'old' })
  await go(page, `/features/${id}`)
  const value = panel(page).getByRole('textbox', { name: 'Value of quick' })
  const saved = await slowly(page, '**/api/**', 'PATCH')
  await value.fill('saved')
  await panel(page).getByRole('button', { name: 'Save' }).click()
  await value.fill('saved and more')
  await expect(receipt(page, 'quick set to saved')).toContainText('live on')
  await expect(value).toHaveValue('saved and more')
  await expect(panel(page).getByRole('button', { name: 'Save' })).toBeEnabled()
  await panel(page).getByRole('tab', { name: 'Settings' }).click()
  await panel(page).getByLabel('Description').fill('new')
  await panel(page).getByRole('button', { name: 'Save' }).click()
  await panel(page).getByLabel('Description').fill('new and more')
  await expect(receipt(page, 'Description of quick changed')).toBeVisible()
  await expect(page.locator('.side-panel > p.muted')).toHaveText('new')
  await expect(panel(page).getByLabel('Description')).toHaveValue('new and more')
  expect(saved()).toBe(2)
})

test('a refusal is told also when its dialog was closed meanwhile, and another one stays', async ({ page }) => {
  await go(page, '/features')
  const dialog = page.getByRole('dialog')
  const send = async (name: string) => {
    await page.getByRole('button', { name: 'New feature' }).click()
    await dialog.getByLabel('Name').fill(name)
    const sent = page.waitForRequest(r => r.method() === 'POST' && r.url().endsWith('/features/'))
    await dialog.getByRole('button', { name: 'Make the feature' }).click()
    await sent
    await dialog.getByRole('button', { name: 'Close' }).click()
    await expect(dialog).toHaveCount(0)
  }
  await slowly(page, '**/projects/1/features/', 'POST')
  await send('banner_text') // is there already
  await expect(page.locator('.receipt.failed')).toContainText('banner_text made')
  await expect(page.locator('.receipt.failed')).toHaveCount(1)
  await send('first')
  await page.getByRole('button', { name: 'New feature' }).click()
  await dialog.getByLabel('Name').fill('second')
  await expect(receipt(page, 'first made')).toBeVisible()
  await expect(dialog.getByLabel('Name')).toHaveValue('second')
  await page.keyboard.press('Escape')
  await page.keyboard.press('Escape')

  const { id } = await api.send('POST', '/api/v1/projects/1/segments/', { name: 'held', project: 1, rules: [{ type: 'ALL', rules: [], conditions: [{ property: 'plan', operator: 'EQUAL', value: 'x' }] }] })
  await page.goto(`${nodes[0]!.origin}/projects/1/segments/${id}`)
  await page.route(`**/segments/${id}/`, async r => {
    if (r.request().method() !== 'DELETE') return r.fallback()
    await new Promise(done => setTimeout(done, 1000))
    await r.fulfill({ status: 503, json: { detail: 'Not now.' } })
  })
  await page.getByRole('button', { name: 'Delete…' }).click()
  await dialog.getByRole('textbox').fill('held')
  await dialog.getByRole('button', { name: 'Delete the segment' }).click()
  await dialog.getByRole('button', { name: 'Close' }).click()
  await page.getByRole('button', { name: 'Clone…' }).click()
  await expect(receipt(page, 'Segment held deleted')).toContainText('Not now.')
  await expect(page.locator('.receipt.failed', { hasText: 'held' })).toHaveCount(1)
  await expect(dialog.getByLabel('Name of the copy')).toBeVisible()
})

test('the value of a condition keeps its lines', async ({ page }) => {
  const { id } = await api.send('POST', '/api/v1/projects/1/segments/', {
    name: 'lines', project: 1,
    rules: [{ type: 'ALL', conditions: [], rules: [{ type: 'ANY', rules: [], conditions: [{ property: 'address', operator: 'EQUAL', value: 'one\ntwo' }] }] }],
  })
  await signIn(page, nodes[0]!.origin)
  await page.goto(`${nodes[0]!.origin}/projects/1/segments/${id}`)
  const value = page.getByRole('textbox', { name: 'Value', exact: true })
  await value.press('ControlOrMeta+End')
  await value.pressSequentially('!')
  await clean(page)
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await expect(receipt(page, 'lines')).toBeVisible()
  expect((await api.send('GET', `/api/v1/projects/1/segments/${id}/`)).rules[0].rules[0].conditions[0].value).toBe('one\ntwo!')
})

test('what the browser does not copy is said', async ({ page }) => {
  const { id } = await make('copied')
  await go(page, `/features/${id}`)
  await page.evaluate(() => (navigator.clipboard.writeText = () => Promise.reject(new Error('Write permission denied.'))))
  await panel(page).getByRole('button', { name: 'Copy the name' }).click()
  await expect(receipt(page, 'Not copied')).toContainText('Write permission denied.')
  await page.evaluate(() => {
    Object.defineProperty(navigator, 'clipboard', { value: undefined })
    document.execCommand = () => false
  })
  await page.getByRole('button', { name: 'Dismiss' }).click()
  await panel(page).getByRole('button', { name: 'Copy the name' }).click()
  await expect(receipt(page, 'Not copied')).toBeVisible()
  calm(page)
})

test('toasts leave the buttons of the panel free', async ({ page }) => {
  const { id } = await make('covered', { initial_value: 'x'.repeat(3000) })
  await go(page, `/features/${id}`)
  for (const width of [1440, 1181, 768, 360]) {
    await page.setViewportSize({ width, height: 740 })
    await page.reload()
    const toasts = page.getByRole('region', { name: 'What became of changes' }).locator('.receipt')
    await panel(page).getByRole('textbox', { name: 'Value of covered' }).fill(`${width} `.repeat(600))
    await panel(page).getByRole('button', { name: 'Save' }).click()
    await expect(toasts).toHaveCount(1)
    await panel(page).getByRole('textbox', { name: 'Value of covered' }).fill(`${width}! `.repeat(600))
    await panel(page).getByRole('button', { name: 'Save' }).click({ timeout: 3000 })
    await expect(toasts).toHaveCount(2)
    await fits(page)
  }
})

test('a refused change is not shown, also where nothing can be read', async ({ page }) => {
  const { id } = await make('refused', { initial_value: 'old' })
  await api.send('POST', '/api/v1/projects/1/tags/', { label: 'refused tag', color: '#333333', project: 1 })
  await go(page, `/features/${id}/settings`)
  const row = page.getByRole('table', { name: 'Features' }).getByRole('switch', { name: 'refused' })
  const tick = panel(page).getByRole('checkbox', { name: 'refused tag' })
  await expect(row).not.toBeChecked()
  await expect(tick).not.toBeChecked()
  await page.route('**/api/**', r => r.fulfill({ status: 503, headers: { 'Retry-After': '1' }, json: { detail: 'Not now.' } }))
  await row.click()
  await expect(receipt(page, 'refused switched on')).toContainText('Not now.')
  await expect(row).not.toBeChecked()
  await tick.evaluate((e: HTMLInputElement) => e.click())
  await expect(receipt(page, 'has the tag')).toContainText('Not now.')
  await expect(tick).not.toBeChecked()
})

test('where a change shows is asked again after a pause, and not of a toast that is gone', async ({ page }) => {
  await make('followed')
  await go(page, '/features')
  let asked = 0
  await page.route('**/views/**', r => (asked++, r.fulfill({ status: 503, json: { detail: 'Not now.' } })))
  await page.getByRole('switch', { name: 'followed' }).click()
  await expect(receipt(page, 'followed switched on')).toBeVisible()
  await expect.poll(() => asked).toBe(1)
  await page.waitForTimeout(1000)
  expect(asked).toBe(1)
  await page.unroute('**/views/**')
  await expect(receipt(page, 'followed switched on')).toContainText('live on 1 of 1 node')
})

test('a toast stays while it has the focus, and is short', async ({ page }) => {
  const { id } = await make('long', { initial_value: 'x' })
  await go(page, `/features/${id}`)
  await panel(page).getByRole('textbox', { name: 'Value of long' }).fill('ab '.repeat(6000))
  await page.clock.install()
  await panel(page).getByRole('button', { name: 'Save' }).click()
  const toast = receipt(page, 'long set to')
  await expect(toast).toContainText('live on')
  expect((await toast.innerText()).length).toBeLessThan(600)
  expect((await page.getByRole('button', { name: /^Value of long/ }).getAttribute('aria-label'))!.length).toBeLessThan(600)
  await toast.getByRole('button', { name: 'Undo' }).focus()
  await page.clock.runFor(30_000)
  await expect(toast.getByRole('button', { name: 'Undo' })).toBeFocused()
  await page.getByLabel('Search features').focus()
  await page.clock.runFor(30_000)
  await expect(toast).toHaveCount(0)
})

test('menus say what is chosen', async ({ page }) => {
  await api.send('POST', '/api/v1/projects/1/tags/', { label: 'chosen', color: '#333333', project: 1 })
  await go(page, '/features')
  await page.getByRole('button', { name: /^State/ }).click()
  await expect(page.getByRole('menuitemradio', { name: 'On and off' })).toHaveAttribute('aria-checked', 'true')
  await page.getByRole('menuitemradio', { name: 'On', exact: true }).click()
  await page.getByRole('button', { name: /^State/ }).click()
  await expect(page.getByRole('menuitemradio', { name: 'On', exact: true })).toBeFocused()
  await clean(page)
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: /^Tags/ }).click()
  await page.getByRole('menuitemcheckbox').first().click()
  await page.getByRole('button', { name: /^Tags/ }).click()
  await expect(page.getByRole('menuitemcheckbox').first()).toHaveAttribute('aria-checked', 'true')
})
