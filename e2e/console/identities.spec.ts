import { expect, test, type Page } from '@playwright/test'
import { api, identify, key, nodes, startDemo } from './demo'
import { API, calm, clean, fits, logIn, password, receipt, signIn } from './world'

startDemo()

test.beforeAll(async () => {
  for (let i = 0; i < 120; i++) await identify(`user${i}@example.com`, { plan: i % 2 ? 'premium' : 'free', age: 10 + i })
})

const list = async (page: Page) => {
  await signIn(page, nodes[0]!.origin)
  await page.getByRole('link', { name: 'Identities', exact: true }).click()
  await expect(page.getByRole('link', { name: 'user0@example.com' })).toBeVisible()
}

const open = async (page: Page, identifier: string) => {
  await list(page)
  await pick(page, identifier)
}

const pick = async (page: Page, identifier: string) => {
  await page.getByLabel('Search identities').fill(identifier.includes('"') ? identifier : `"${identifier}"`)
  await expect(page.getByRole('main').getByRole('listitem')).toHaveCount(1)
  await page.getByRole('link', { name: identifier, exact: true }).click()
  await expect(page.getByRole('heading', { level: 1, name: identifier })).toBeVisible()
  await expect(page.getByRole('region', { name: 'Flags' }).getByText('button_colour')).toBeVisible()
}

test('search by part and by whole, page by page', async ({ page }) => {
  await list(page)
  const rows = page.getByRole('main').getByRole('listitem')
  await expect(rows).toHaveCount(50)
  const pages = page.getByRole('navigation', { name: 'Pages' })
  await expect(pages).toContainText('120 identities')
  await pages.getByRole('button', { name: 'Next' }).click()
  await expect(page).toHaveURL(/page=2/)
  await expect(rows.first()).toHaveText('user50@example.com')
  await pages.getByRole('button', { name: 'Next' }).click()
  await expect(rows).toHaveCount(20)
  await page.getByLabel('Search identities').fill('ER11')
  await expect(rows).toHaveCount(11) // 11 and 110 to 119
  await page.getByLabel('Search identities').fill('"user11@example.com"')
  await expect(rows).toHaveText(['user11@example.com'])
  await page.reload()
  await expect(rows).toHaveText(['user11@example.com'])
  await page.getByLabel('Search identities').fill('nobody of that name')
  await expect(page.getByRole('heading', { name: 'No identifier has that in it' })).toBeVisible()
  calm(page)
})

test('traits are added, edited, removed and brought back, and decide', async ({ page }) => {
  await open(page, 'user2@example.com')
  await expect(page).toHaveURL(/identities\/\d+$/)
  const traits = page.getByRole('region', { name: 'Traits' })
  const flags = page.getByRole('region', { name: 'Flags' })
  await expect(traits.getByRole('listitem')).toHaveText(['age 12', 'plan free'])
  await expect(flags.getByRole('button', { name: 'Why: banner_text – Default' })).toBeVisible()
  await traits.getByRole('button', { name: 'Edit plan' }).click()
  await page.getByLabel('Value').fill('premium')
  await page.getByRole('button', { name: 'Save' }).click()
  await expect(receipt(page, 'Trait plan changed')).toContainText('Committed at index')
  await expect(flags.getByRole('button', { name: 'Why: banner_text – Segment premium users' })).toBeVisible()
  expect((await identify('user2@example.com')).banner_text!.feature_state_value).toBe('Thank you for being with us')
  await traits.getByRole('button', { name: 'Trait' }).click()
  await page.getByRole('button', { name: 'Add the trait' }).click()
  await page.getByLabel('Key').fill('beta')
  await page.getByLabel('Type').selectOption('Yes or no')
  await page.getByLabel('Value').selectOption('true')
  await page.getByRole('button', { name: 'Add the trait' }).click()
  await expect(traits.getByRole('listitem')).toHaveText(['age 12', 'beta true', 'plan premium'])
  await traits.getByRole('button', { name: 'Remove age' }).click()
  await expect(traits.getByRole('listitem')).toHaveText(['beta true', 'plan premium'])
  await receipt(page, 'Trait age removed').getByRole('button', { name: 'Undo' }).click()
  await expect(traits.getByRole('listitem')).toHaveText(['age 12', 'beta true', 'plan premium'])
  const found = (await api.send('GET', `/api/v1/environments/${key}/edge-identities/?q=%22user2@example.com%22`)).results[0].identity_uuid
  const stored = await api.send('GET', `/api/v1/environments/${key}/edge-identities/${found}/list-traits/`)
  expect(stored).toEqual(expect.arrayContaining([{ trait_key: 'beta', trait_value: true }, { trait_key: 'age', trait_value: 12 }]))
  calm(page)
})

test('traits keep their types', async ({ page }) => {
  await identify('typed@example.com', { text: '007', whole: 1700000000000, decimal: 1.5, yes: true })
  await open(page, 'typed@example.com')
  const traits = page.getByRole('region', { name: 'Traits' })
  const add = async (name: string, type: string, value: string) => {
    await traits.getByRole('button', { name: 'Trait', exact: true }).click()
    await page.getByLabel('Key').fill(name)
    await page.getByLabel('Type').selectOption(type)
    await page.getByLabel('Value').fill(value)
    await page.keyboard.press('Enter')
    await expect(page.getByRole('dialog')).toHaveCount(0)
  }
  await add('even', 'Decimal number', '3')
  await add('zip', 'Text', '01234')
  const all = ['decimal 1.5', 'even 3.0', 'text "007"', 'whole 1700000000000', 'yes true', 'zip "01234"']
  await expect(traits.getByRole('listitem')).toHaveText(all)
  await traits.getByRole('button', { name: 'Edit text' }).click()
  await page.getByLabel('Value').fill('008')
  await page.keyboard.press('Enter')
  await expect(traits.getByRole('listitem')).toHaveText(all.with(2, 'text "008"'))
  for (const [name, label] of [['whole', 'Trait whole removed'], ['even', 'Trait even removed']] as const) {
    await traits.getByRole('button', { name: `Remove ${name}` }).click()
    await expect(traits.getByRole('listitem')).toHaveCount(5)
    await receipt(page, label).getByRole('button', { name: 'Undo' }).click()
    await expect(traits.getByRole('listitem')).toHaveCount(6)
  }
  await expect(traits.getByRole('listitem')).toHaveText(all.with(2, 'text "008"'))
  const id = Number(/identities\/(\d+)$/.exec(page.url())![1])
  const stored = (await api.send('GET', `/api/v1/environments/${key}/identities/${id}/traits/`)).results
  expect(Object.fromEntries(stored.map((t: any) => [t.trait_key, t.value_type]))).toEqual({ text: 'unicode', zip: 'unicode', whole: 'int', decimal: 'float', even: 'float', yes: 'bool' })
  calm(page)
})

test('an address names an identity and a flag, and a uuid will do', async ({ page }) => {
  await open(page, 'user10@example.com')
  await page.getByRole('button', { name: /^Why: page_size/ }).click()
  await expect(page).toHaveURL(/identities\/\d+\/page_size$/)
  await page.reload()
  await expect(page.getByRole('region', { name: 'Why page_size' })).toContainText('decides: The default of the environment')
  const uuid = (await api.send('GET', `/api/v1/environments/${key}/edge-identities/?q=%22user10@example.com%22`)).results[0].identity_uuid
  await page.goto(`${nodes[0]!.origin}/projects/1/environments/${key}/identities/${uuid}/page_size`)
  await expect(page.getByRole('region', { name: 'Why page_size' })).toBeVisible()
  await expect(page).toHaveURL(/identities\/\d+\/page_size$/)
  await page.getByRole('region', { name: 'Flags' }).getByRole('link', { name: 'page_size' }).click()
  await expect(page.getByRole('complementary', { name: 'page_size' })).toBeVisible()
  await page.goBack()
  await page.getByRole('button', { name: /^Environment: / }).click()
  await page.getByRole('menuitemradio', { name: 'Production' }).click()
  await expect(page.getByRole('heading', { level: 1, name: 'Identities' })).toBeVisible()
  await page.goto(`${nodes[0]!.origin}/projects/1/environments/${key}/identities/99999`)
  await expect(page.getByRole('heading', { name: /No Identity matches/ })).toBeVisible()
  calm(page)
})

test('without the permissions nothing is shown or changed, and the page says so', async ({ page }) => {
  const account = { email: 'looks@example.com', password, first_name: 'Looks', last_name: 'Only' }
  const hers = new API(nodes[0]!.origin, (await api.send('POST', '/api/v1/auth/users/', account)).key)
  const { hash } = await api.send('POST', '/api/v1/organisations/1/invite-links/', { role: 'USER' })
  await hers.send('POST', `/api/v1/users/join/link/${hash}/`)
  const user = (await hers.send('GET', '/api/v1/auth/users/me/')).id
  await api.send('POST', '/api/v1/projects/1/user-permissions/', { user, permissions: ['VIEW_PROJECT'] })
  const path = `/api/v1/environments/${key}/user-permissions/`
  const given = await api.send('POST', path, { user, permissions: ['VIEW_ENVIRONMENT'] })
  await page.goto(`${nodes[0]!.origin}/projects/1/environments/${key}/identities`)
  await logIn(page, account)
  await expect(page.getByRole('heading', { name: /do not have permission/ })).toBeVisible()
  await api.send('PUT', `${path}${given.id}/`, { user, permissions: ['VIEW_ENVIRONMENT', 'VIEW_IDENTITIES'] })
  await page.reload()
  await page.getByRole('link', { name: 'user0@example.com' }).click()
  await page.getByRole('button', { name: 'Override page_size' }).click()
  await page.getByRole('button', { name: 'Override', exact: true }).click()
  await expect(page.getByRole('dialog').getByText('do not have permission')).toBeVisible()
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: 'Remove age' }).click()
  await expect(page.locator('.receipt[data-kind=failed]')).toContainText('do not have permission')
  await expect(page.getByRole('region', { name: 'Traits' }).getByRole('listitem')).toHaveText(['age 10', 'plan free'])
})

test('the trace shows segment, rules, conditions and buckets', async ({ page }) => {
  await open(page, 'user4@example.com')
  const flags = page.getByRole('region', { name: 'Flags' })
  await flags.getByRole('button', { name: 'Why: banner_text – Default' }).click()
  const why = page.getByRole('region', { name: 'Why banner_text' })
  await expect(why).toContainText('does not match: Segment premium users')
  await expect(why).toContainText('does not hold: plan is premium – is free')
  await expect(why).toContainText('decides: The default of the environment')
  await expect(why).toContainText('Programs are told: DEFAULT')
  await flags.getByRole('button', { name: /^Why: button_colour/ }).press('Enter')
  await expect(page.getByRole('region', { name: 'Why button_colour' })).toContainText(/Bucket \d+(\.\d+)? % of the split/)
  const colour = (await identify('user4@example.com')).button_colour!.feature_state_value
  await expect(page.getByRole('region', { name: 'Why button_colour' })).toContainText(String(colour))
  calm(page)
})

test('an override is made, edited, given a variant and removed', async ({ page }) => {
  await open(page, 'user6@example.com')
  const flags = page.getByRole('region', { name: 'Flags' })
  await flags.getByRole('button', { name: 'Override page_size' }).click()
  await page.getByRole('textbox', { name: 'Value' }).fill('99')
  await page.getByRole('switch', { name: 'page_size for user6@example.com' }).click()
  await page.getByRole('button', { name: 'Override', exact: true }).click()
  await expect(receipt(page, 'Override of page_size')).toContainText('live on 3 of 3 nodes')
  await expect(flags.getByRole('button', { name: 'Why: page_size – Override for this identity' })).toBeVisible()
  expect((await identify('user6@example.com')).page_size).toMatchObject({ enabled: false, feature_state_value: 99 })
  expect((await identify('user8@example.com')).page_size).toMatchObject({ enabled: true, feature_state_value: 25 })

  await flags.getByRole('button', { name: 'Override button_colour' }).click()
  await page.getByLabel('Variant', { exact: true }).selectOption('orange')
  await page.getByRole('button', { name: 'Override', exact: true }).click()
  await expect(receipt(page, 'Override of button_colour')).toContainText('live on 3 of 3 nodes')
  expect((await identify('user6@example.com')).button_colour!.feature_state_value).toBe('orange')
  await flags.getByRole('checkbox', { name: 'Overridden here' }).check()
  await expect(flags.locator('.identity-flag')).toHaveCount(2)

  await flags.getByRole('button', { name: 'Edit the override of button_colour' }).click()
  await expect(page.getByLabel('Variant', { exact: true })).toHaveValue(/^\d+$/)
  await page.getByLabel('Variant', { exact: true }).selectOption('None: the value below')
  await page.getByRole('textbox', { name: 'Value' }).fill('purple')
  await page.getByRole('button', { name: 'Save' }).click()
  await expect(flags).toContainText('purple')
  expect((await identify('user6@example.com')).button_colour!.feature_state_value).toBe('purple')

  await flags.getByRole('button', { name: 'Edit the override of page_size' }).click()
  await page.getByRole('button', { name: 'Remove the override' }).click()
  await expect(flags.locator('.identity-flag')).toHaveCount(1)
  await expect.poll(async () => (await identify('user6@example.com')).page_size!.feature_state_value).toBe(25)
  await receipt(page, 'page_size for user6@example.com removed').getByRole('button', { name: 'Undo' }).click()
  await expect(flags.locator('.identity-flag')).toHaveCount(2)
  await flags.getByRole('link', { name: 'page_size' }).click()
  await page.getByRole('complementary').getByRole('tab', { name: 'Overrides' }).click()
  await page.getByRole('complementary').getByRole('link', { name: 'user6@example.com' }).click()
  await expect(page.getByRole('heading', { level: 1, name: 'user6@example.com' })).toBeVisible()
  calm(page)
})

test('text of flags, segments, traits and identities is text', async ({ page }) => {
  const evil = '<img src=x onerror="alert(1)"><script>alert(2)</script>'
  const feature = await api.send('POST', '/api/v1/projects/1/features/', { name: 'evil', description: evil, initial_value: `"'>${evil}` })
  const rules = [{ type: 'ALL', rules: [{ type: 'ANY', conditions: [{ operator: 'EQUAL', property: evil, value: evil }] }] }]
  const segment = await api.send('POST', '/api/v1/projects/1/segments/', { name: evil, project: 1, rules })
  await api.send('POST', `/api/v1/environments/${key}/features/${feature.id}/create-segment-override/`, {
    enabled: true, feature_state_value: { string_value: evil, type: 'unicode' }, feature_segment: { segment: segment.id, priority: 0 },
  })
  await identify(evil, { [evil]: evil })
  await open(page, evil)
  await expect(page.getByRole('region', { name: 'Traits' }).getByRole('listitem')).toHaveText([`${evil} ${evil}`])
  await page.getByRole('button', { name: 'Why: evil' }).press('Enter')
  const why = page.getByRole('region', { name: 'Why evil' })
  await expect(why).toContainText(`matches: Segment ${evil} – decides`)
  await expect(why).toContainText(`${evil} is ${evil}`)
  await page.getByRole('button', { name: 'Override evil' }).click()
  await expect(page.getByRole('textbox', { name: 'Value' })).toHaveValue(evil)
  await page.keyboard.press('Escape')
  expect(await page.locator('img').count()).toBe(0)
  expect(await page.locator('script').count()).toBe(1)
  await api.send('DELETE', `/api/v1/projects/1/segments/${segment.id}/`)
  await api.send('DELETE', `/api/v1/projects/1/features/${feature.id}/`)
  calm(page)
})

test('an identity is made, found by the palette, and deleted', async ({ page }) => {
  const evil = '<img src=y onerror="alert(1)">'
  await list(page)
  await page.getByRole('button', { name: 'New identity' }).click()
  await page.getByLabel('Identifier').fill('user1@example.com')
  await page.getByRole('button', { name: 'Make the identity' }).click()
  await expect(page.locator('dialog .field-error')).toContainText('already exists')
  await page.getByLabel('Identifier').fill(evil)
  await page.getByRole('button', { name: 'Make the identity' }).click()
  await expect(page.getByRole('heading', { level: 1, name: evil })).toBeVisible()
  await page.keyboard.press('Control+k')
  await page.keyboard.type('img src=y')
  await expect(page.getByRole('option').filter({ hasText: 'Identity' })).toContainText(evil)
  await page.keyboard.press('Enter')
  await expect(page.getByRole('heading', { level: 1, name: evil })).toBeVisible()
  await page.getByRole('button', { name: 'Delete…' }).click()
  await page.getByRole('button', { name: 'Delete the identity' }).click()
  await expect(receipt(page, 'deleted')).toContainText('Committed at index')
  await expect(page.getByRole('navigation', { name: 'Pages' })).toContainText('identities')
  await expect(page.getByRole('link', { name: evil })).toHaveCount(0)
  expect(await page.locator('img').count()).toBe(0)
  calm(page)
})

for (const scheme of ['light', 'dark'] as const) {
  test(`identities: axe finds nothing, and nothing sticks out (${scheme})`, async ({ page }) => {
    await page.emulateMedia({ colorScheme: scheme, reducedMotion: 'reduce' })
    await list(page)
    await clean(page)
    await pick(page, 'user6@example.com')
    for (const name of ['banner_text', 'button_colour']) await page.getByRole('button', { name: `Why: ${name}` }).click()
    await clean(page)
    for (const size of [{ width: 3840, height: 2160 }, { width: 360, height: 780 }]) {
      await page.setViewportSize(size)
      await fits(page)
      await clean(page)
    }
    await page.getByRole('button', { name: 'Edit the override of button_colour' }).click()
    await clean(page)
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Edit plan' }).click()
    await clean(page)
    await page.keyboard.press('Escape')
    await page.getByRole('main').getByRole('link', { name: 'Identities' }).click()
    await expect(page.getByRole('link', { name: 'user0@example.com' })).toBeVisible()
    for (const size of [{ width: 360, height: 780 }, { width: 3840, height: 2160 }]) {
      await page.setViewportSize(size)
      await fits(page)
    }
    await clean(page)
    calm(page)
  })
}
