import { expect, test, type Page } from '@playwright/test'
import { api, key, nodes, startDemoOf } from './demo'
import { calm, clean, fits, signIn } from './world'

// Keys alone, windows as small as zoom makes them, names of one long word, and a system's own colours.

startDemoOf(1)

const panel = (page: Page) => page.locator('.side-panel')
const open = (page: Page, path: string) => page.goto(`${nodes[0]!.origin}${path}`)
const environment = () => `/projects/1/environments/${key}`
const condition = { property: 'plan', operator: 'EQUAL', value: 'gold' }
const segment = (name: string, conditions = [condition]) =>
  api.send('POST', '/api/v1/projects/1/segments/', { name, project: 1, rules: [{ type: 'ALL', conditions: [], rules: conditions.map(c => ({ type: 'ANY', rules: [], conditions: [c] })) }] })

test('the focus stays near what was removed, added or saved with keys', async ({ page }) => {
  const { id } = await api.send('POST', '/api/v1/projects/1/features/', { name: 'keys', initial_value: 'old' })
  for (const identifier of ['ann', 'bea']) await api.send('PUT', `/api/v1/environments/${key}/edge-identities-featurestates`, { identifier, feature: id, enabled: true, feature_state_value: 'own' })
  await signIn(page, nodes[0]!.origin)
  await open(page, `${environment()}/features/${id}/overrides`)
  await panel(page).getByRole('button', { name: 'Remove the override for ann' }).focus()
  await page.keyboard.down('Enter')
  await expect(panel(page).getByRole('button', { name: 'Remove the override for bea' })).toBeFocused()
  await page.keyboard.down('Enter') // held: bea's stays
  await page.keyboard.up('Enter')
  await expect(panel(page).getByRole('button', { name: 'Remove the override for bea' })).toBeFocused()
  await expect(page.locator('.receipt', { hasText: 'Override for bea removed' })).toHaveCount(0)
  await panel(page).getByRole('button', { name: 'Remove the override for bea' }).click()
  await expect(panel(page).getByLabel('Identifier')).toBeFocused()
  await panel(page).getByRole('tab', { name: 'Value' }).click()
  await panel(page).getByRole('button', { name: 'Add a variant' }).press('Enter')
  await expect(panel(page).getByLabel('Value of the new variant', { exact: true })).toBeFocused()
  await page.keyboard.type('red')
  await panel(page).getByRole('button', { name: 'Add', exact: true }).press('Enter')
  await expect(panel(page).getByRole('button', { name: 'Add a variant' })).toBeFocused()
  const cell = page.getByRole('button', { name: /^Value of keys/ })
  await cell.press('Enter')
  await page.keyboard.type('cell')
  await page.keyboard.press('Enter')
  await expect(cell).toBeFocused()
  await expect(panel(page).getByRole('textbox', { name: 'Value of keys' })).toHaveValue('cell') // before it is there, it would take the place of what is typed
  await panel(page).getByRole('textbox', { name: 'Value of keys' }).fill('new')
  await panel(page).getByRole('button', { name: 'Save' }).press('Enter')
  await expect(panel(page).getByRole('button', { name: 'Save' })).toBeDisabled()
  await expect(panel(page)).toBeFocused()
  await page.keyboard.press('Escape')
  await expect(panel(page)).toHaveCount(0)
  await expect(page.getByRole('link', { name: 'keys', exact: true })).toBeFocused()

  // A refusal gives the button back with the focus on it.
  await page.getByRole('button', { name: 'New feature' }).press('Enter')
  await page.keyboard.type('keys')
  await page.getByRole('button', { name: 'Make the feature' }).press('Enter')
  await expect(page.getByRole('dialog').locator('.field-error')).toBeVisible()
  await expect(page.getByRole('button', { name: 'Make the feature' })).toBeFocused()
  await page.keyboard.press('Escape')
  await page.keyboard.press('Escape')
  await expect(page.getByRole('button', { name: 'New feature' })).toBeFocused()

  const two = await segment('two', [condition, { ...condition, value: 'silver' }])
  await open(page, `/projects/1/segments/${two.id}`)
  await page.getByRole('button', { name: 'Remove condition 1' }).press('Enter')
  await expect(page.getByRole('group', { name: 'Condition 1' }).locator(':focus')).toHaveCount(1)
  calm(page)
})

test('an operator and a type that arrow keys pass on the way take nothing away', async ({ page }) => {
  const { id } = await segment('passed')
  const person = await api.send('POST', `/api/v1/environments/${key}/identities/`, { identifier: 'passer' })
  await signIn(page, nodes[0]!.origin)
  await open(page, `/projects/1/segments/${id}`)
  const operator = page.getByRole('combobox', { name: 'Operator' })
  for (const o of ['IS_SET', 'PERCENTAGE_SPLIT', 'MODULO', 'NOT_EQUAL']) await operator.selectOption(o)
  await expect(page.getByRole('textbox', { name: 'Value', exact: true })).toHaveValue('gold')
  await open(page, `${environment()}/identities/${person.id}`)
  await page.getByRole('button', { name: 'Trait', exact: true }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Value').fill('seven')
  for (const type of ['int', 'float', 'bool', 'unicode']) await dialog.getByLabel('Type').selectOption(type)
  await expect(dialog.getByLabel('Value')).toHaveValue('seven')
})

test('on a phone the navigation has the focus while it is open, and what the panel covers has it not', async ({ page }) => {
  await signIn(page, nodes[0]!.origin)
  await page.setViewportSize({ width: 360, height: 740 })
  const opener = page.getByRole('button', { name: 'Open the navigation' })
  const navigation = page.getByRole('navigation', { name: 'Main' })
  await opener.press('Enter')
  await expect(navigation.locator(':focus')).toHaveCount(1)
  await page.keyboard.press('Tab')
  await expect(navigation.locator(':focus')).toHaveCount(1)
  await clean(page)
  await page.keyboard.press('Escape')
  await expect(navigation).toBeHidden()
  await expect(opener).toBeFocused()
  await page.getByRole('link', { name: 'banner_text' }).press('Enter')
  await expect(panel(page)).toBeVisible()
  await page.getByRole('heading', { name: 'banner_text' }).focus()
  for (let i = 0; i < 2; i++) {
    await page.keyboard.press('Shift+Tab')
    await expect(page.locator('.features-list :focus, .topbar :focus')).toHaveCount(0)
  }
  await panel(page).getByRole('button', { name: 'Close' }).press('Enter')
  await expect(page.getByRole('link', { name: 'banner_text' })).toBeFocused()
})

test('in a window as zoom makes it everything can be scrolled to', async ({ page }) => {
  await signIn(page, nodes[0]!.origin)
  await page.setViewportSize({ width: 320, height: 256 }) // 400 % of 1280 × 1024
  await page.getByRole('switch', { name: 'page_size' }).scrollIntoViewIfNeeded()
  const box = (await page.getByRole('table', { name: 'Features' }).locator('..').boundingBox())!
  expect(box.height).toBeGreaterThan(150)
  await page.getByRole('switch', { name: 'page_size' }).click()
  await expect(page.getByRole('switch', { name: 'page_size' })).toBeChecked({ checked: false })
  await page.getByRole('button', { name: 'Open the navigation' }).click()
  await page.getByRole('button', { name: /^Organisation and project/ }).click()
  await page.getByRole('menuitem', { name: 'All projects' }).click()
  await expect(page.getByRole('navigation', { name: 'Main' })).toBeHidden()
  await expect(page).toHaveURL(nodes[0]!.origin + '/')
})

test('names of one long word, and what only screen readers see, make no window scroll', async ({ page }) => {
  const word = 'w'.repeat(200)
  const { id } = await segment(word)
  await api.send('PATCH', `/api/v1/environments/${key}/`, { banner_text: word })
  await signIn(page, nodes[0]!.origin)
  await page.setViewportSize({ width: 360, height: 640 })
  const feature = (await api.send('GET', '/api/v1/projects/1/features/?search=page_size')).results[0].id
  for (const path of [`${environment()}/features`, `${environment()}/features/${feature}/overrides`, `${environment()}/settings`, `/projects/1/segments/${id}`]) {
    await open(page, path)
    await expect(page.locator('[aria-busy=true]')).toHaveCount(0)
    await expect(page.getByRole('main').getByRole('heading').first()).toBeAttached()
    await fits(page)
    expect(await page.evaluate(() => document.documentElement.scrollHeight - innerHeight)).toBe(0)
  }
  await api.send('PATCH', `/api/v1/environments/${key}/`, { banner_text: '' })
})

test('in forced colours one sees what is on, chosen and focused', async ({ page }) => {
  await page.emulateMedia({ forcedColors: 'active' })
  await signIn(page, nodes[0]!.origin)
  await page.getByRole('switch', { name: 'new_checkout' }).click()
  await page.locator('.switch[aria-checked=false]').first().waitFor()
  const look = (of: string) => page.locator(of).first().screenshot({ animations: 'disabled' })
  const [on, off] = [await look('.switch[aria-checked=true]'), await look('.switch[aria-checked=false]')]
  expect(on.equals(off)).toBe(false)
  expect(await page.locator('.switch').first().evaluate(e => getComputedStyle(e).backgroundColor !== getComputedStyle(document.body).backgroundColor)).toBe(true)
  await page.getByRole('button', { name: /^State/ }).press('Enter')
  await page.keyboard.press('ArrowDown')
  await expect(page.getByRole('menuitemradio', { name: 'On', exact: true })).toHaveCSS('outline-style', 'solid')
  await page.keyboard.press('Escape')
  await page.getByRole('link', { name: 'banner_text' }).click()
  const line = (tab: string) => panel(page).getByRole('tab', { name: tab }).evaluate(e => getComputedStyle(e).borderBottomColor)
  expect(await line('Value')).not.toBe(await line('History'))
})
