import { expect, test, type Page } from '@playwright/test'
import { api, key, nodes, startDemoOf } from './demo'
import { logIn, receipt, signIn } from './world'

// What somebody has under their hands goes: others remove it, it is scrolled away, or the session ends.

startDemoOf(1)

const panel = (page: Page) => page.locator('.side-panel')
const environment = () => `${nodes[0]!.origin}/projects/1/environments/${key}`
const make = (name: string, more: object = {}) => api.send('POST', '/api/v1/projects/1/features/', { name, ...more })
const segment = (name: string) =>
  api.send('POST', '/api/v1/projects/1/segments/', { name, project: 1, rules: [{ type: 'ALL', rules: [{ type: 'ANY', conditions: [{ operator: 'EQUAL', property: 'p', value: name }] }] }] })
const override = (feature: { id: number }, ...overrides: [{ id: number }, string][]) =>
  api.send('PUT', `/api/__future__/environments/${key}/features/${feature.id}/`, {
    segment_overrides: overrides.map(([segment, value], priority) => ({ segment: { id: segment.id }, priority, enabled: true, value: { type: 'string', value }, variants: [] })),
  })

test('who types into what others remove types into nothing else', async ({ page }) => {
  const feature = await make('typed into')
  const [a, b] = [await segment('first'), await segment('second')]
  await override(feature, [a, 'a'], [b, 'b'])
  await signIn(page, nodes[0]!.origin)
  await page.goto(`${environment()}/features/${feature.id}/overrides`)
  const value = (name: string) => panel(page).getByRole('textbox', { name: `Value for ${name}` })
  await value('first').fill('typed')
  await override(feature, [b, 'b'])
  await expect(value('first')).toHaveCount(0)
  await expect(panel(page)).toBeFocused()
  await page.keyboard.type(' and on')
  await expect(value('second')).toHaveValue('b')
})

test('a key that was meant for what is gone switches no other feature', async ({ page }) => {
  const feature = await make('a_cell', { initial_value: 'v' })
  await signIn(page, nodes[0]!.origin)
  await page.getByRole('button', { name: /^Value of a_cell/ }).click()
  await page.keyboard.type('two')
  await api.send('DELETE', `/api/v1/projects/1/features/${feature.id}/`)
  await expect(page.getByRole('link', { name: 'a_cell' })).toHaveCount(0)
  await expect(page.locator('.table')).toBeFocused()

  for (let i = 0; i < 60; i++) await make(`many_${i}`)
  const first = page.getByRole('switch', { name: 'banner_text' })
  await first.click()
  await page.mouse.wheel(0, 1500)
  await expect(first).toHaveCount(0)
  await expect(page.locator('.table')).toBeFocused()
})

test('a year of five digits is refused where it is typed', async ({ page }) => {
  await signIn(page, nodes[0]!.origin)
  await page.goto(`${nodes[0]!.origin}/organisations/1/api-keys`)
  await page.getByLabel('Name of a new key').fill('late')
  await page.getByLabel('Ends (optional)').fill('12025-12-31T23:59')
  expect(await page.getByLabel('Ends (optional)').evaluate((e: HTMLInputElement) => e.validity.rangeOverflow)).toBe(true)
  await page.getByRole('button', { name: 'Make the key' }).click()
  await expect(page.getByText('Invalid time value')).toHaveCount(0)
})

test('overrides that others saved stay, also where nothing told of them', async ({ page }) => {
  const feature = await make('overridden')
  const [a, b] = [await segment('mine'), await segment('theirs')]
  await override(feature, [a, 'a'])
  await page.route('**/api/flagraft/v1/events/', r => r.abort()) // as a proxy that holds streams back
  await page.addInitScript(() => delete (window as Partial<Window & { SharedWorker: unknown }>).SharedWorker)
  await signIn(page, nodes[0]!.origin)
  await page.goto(`${environment()}/features/${feature.id}/overrides`)
  const value = (name: string) => panel(page).getByRole('textbox', { name: `Value for ${name}` })
  await value('mine').fill('typed')
  await override(feature, [a, 'a'], [b, 'b'])
  const save = panel(page).getByRole('button', { name: 'Save overrides' })
  await save.click()
  await expect(value('theirs')).toHaveValue('b')
  await expect(receipt(page, 'Segment overrides of overridden changed')).toContainText('Somebody else saved')
  await save.click()
  await expect(receipt(page, 'Segment overrides of overridden changed').last()).toContainText('live on 1 of 1 node')
  const values = async () => (await api.send('GET', `/api/__future__/environments/${key}/features/${feature.id}/`)).segment_overrides.map((o: any) => o.value.value)
  expect(await values()).toEqual(['typed', 'b'])

  // The way back does not take along what others saved since.
  await override(feature, [a, 'typed'], [b, 'c'])
  await receipt(page, 'Segment overrides of overridden changed').getByRole('button', { name: 'Undo' }).click()
  await expect(receipt(page, 'Segment overrides of overridden as they were')).toContainText('Somebody else saved')
  expect(await values()).toEqual(['typed', 'c'])
})

test('the refusal of a session of before does not end the one that began since', async ({ page }) => {
  let refuse = () => {}
  await signIn(page, nodes[0]!.origin)
  const held = new Promise<void>(asked => {
    let once = false
    void page.route('**/api/flagraft/v1/nodes/', async r => {
      if (once) return r.continue()
      once = true
      const go = new Promise<void>(done => (refuse = done))
      asked()
      await go
      await r.fulfill({ status: 401, json: { detail: 'Invalid token.' } })
    })
  })
  await held
  await api.send('POST', '/api/v1/auth/logout/')
  await expect(page.getByText('You were signed out.')).toBeVisible()
  await logIn(page)
  await expect(page.getByRole('switch', { name: 'banner_text' })).toBeVisible()
  const answered = page.waitForResponse('**/api/flagraft/v1/nodes/')
  refuse()
  await answered
  await page.getByRole('switch', { name: 'banner_text' }).click()
  await expect(receipt(page, 'banner_text switched').last()).toContainText('live on 1 of 1 node')
})
