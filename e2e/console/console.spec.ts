import { expect, test } from '@playwright/test'
import { api, key, nodes, startDemo } from './demo'
import { start } from './nodes'
import { API, calm, clean, fits, flag, password, receipt, signIn, totp } from './world'

startDemo()

test('a switched flag is live on all nodes, and an SDK sees it', async ({ page }) => {
  await signIn(page, nodes[1]!.origin)
  const toggle = page.getByRole('switch', { name: 'banner_text' })
  await expect(toggle).toBeChecked()
  await toggle.click()
  await expect(receipt(page, 'banner_text switched off')).toContainText(/Committed at index \d+, live on 3 of 3 nodes after \d+ ms/)
  for (const n of nodes) expect((await flag(n.origin, key, 'banner_text')).enabled).toBe(false)
  await receipt(page, 'banner_text switched off').getByRole('button', { name: 'Undo' }).click()
  await expect(receipt(page, 'banner_text switched on')).toContainText('live on 3 of 3 nodes')
  expect((await flag(nodes[2]!.origin, key, 'banner_text')).enabled).toBe(true)
  await page.reload()
  await expect(page.getByRole('switch', { name: 'banner_text' })).toBeChecked()
  calm(page)
})

test('a value is edited in place', async ({ page }) => {
  await signIn(page, nodes[0]!.origin)
  await page.getByRole('button', { name: 'Value of page_size: 25. Edit' }).click()
  await page.getByRole('textbox', { name: 'Value of page_size' }).fill('50')
  await page.keyboard.press('Enter')
  await expect(receipt(page, 'page_size set to 50')).toContainText('live on 3 of 3 nodes')
  expect((await flag(nodes[1]!.origin, key, 'page_size')).feature_state_value).toBe(50)
  calm(page)
})

test('two people see each other', async ({ page, browser }) => {
  const other = await (await browser.newContext()).newPage()
  await signIn(page, nodes[0]!.origin)
  await signIn(other, nodes[2]!.origin)
  await page.getByRole('switch', { name: 'new_checkout' }).click()
  await expect(other.getByRole('switch', { name: 'new_checkout' })).not.toBeChecked()
  await other.getByRole('switch', { name: 'new_checkout' }).click()
  await expect(page.getByRole('switch', { name: 'new_checkout' })).toBeChecked()
  await api.send('POST', '/api/v1/projects/1/tags/', { label: 'from elsewhere', color: '#12724a' })
  await expect(page.getByRole('button', { name: 'Tags' })).toBeVisible()
  calm(page)
  calm(other)
  await other.context().close()
})

test('shares, overrides in order, history and undo', async ({ page }) => {
  for (const name of ['first', 'second']) {
    await api.send('POST', '/api/v1/projects/1/segments/', {
      name, project: 1, rules: [{ type: 'ALL', rules: [{ type: 'ANY', conditions: [{ operator: 'EQUAL', property: 'p', value: name }] }] }],
    })
  }
  await signIn(page, nodes[0]!.origin)
  await page.getByRole('link', { name: 'button_colour' }).click()
  const panel = page.getByRole('complementary', { name: 'button_colour' })
  await panel.getByRole('spinbutton', { name: 'Share of green' }).fill('80')
  await expect(panel.getByRole('status')).toContainText('105 % is 5 % too much')
  await expect(panel.getByRole('button', { name: 'Save' })).toBeDisabled()
  await panel.getByRole('spinbutton', { name: 'Share of green' }).fill('40')
  await panel.getByRole('button', { name: 'Save' }).click()
  await expect(receipt(page, 'Shares of button_colour changed')).toContainText('live on 3 of 3')
  await panel.getByRole('tab', { name: 'Compare' }).click()
  const compared = panel.getByRole('row', { name: /^Production/ }).getByRole('cell').nth(1)
  await expect(compared).toContainText('5 %')
  await expect(compared).toHaveClass('differs')

  await panel.getByRole('tab', { name: 'Overrides' }).click()
  for (const name of ['first', 'second']) await panel.getByRole('combobox', { name: 'Add an override' }).selectOption(name)
  await panel.getByRole('button', { name: 'Move second' }).press('ArrowUp')
  await panel.getByRole('button', { name: 'Save overrides' }).click()
  await expect(receipt(page, 'Segment overrides')).toContainText('live on 3 of 3')
  const saved = await api.send('GET', `/api/__future__/environments/${key}/features/4/`)
  const named = new Map((await api.send('GET', '/api/v1/projects/1/segments/')).results.map((s: any) => [s.id, s.name]))
  const inOrder = saved.segment_overrides.toSorted((a: any, b: any) => a.priority - b.priority).map((o: any) => named.get(o.segment.id))
  expect(inOrder).toEqual(['second', 'first'])

  const rows = panel.locator('.override')
  const [from, to] = [await rows.nth(1).locator('.drag-handle').boundingBox(), await rows.nth(0).boundingBox()]
  await page.mouse.move(from!.x + 5, from!.y + 5)
  await page.mouse.down()
  await page.mouse.move(to!.x + 20, to!.y + 10, { steps: 8 })
  await page.mouse.up()
  await expect(rows.nth(0)).toContainText('first')

  await panel.getByRole('tab', { name: 'History' }).click()
  await expect(panel.locator('.history-event', { hasText: 'Override for second made' })).toBeVisible()
  await panel.locator('.history-event', { hasText: 'Shares' }).filter({ hasText: '40 %', hasNotText: 'Override' }).getByRole('button').click()
  await expect(receipt(page, 'as before')).toContainText('live on 3 of 3')
  const back = await api.send('GET', `/api/__future__/environments/${key}/features/4/`)
  expect(back.environment_default.variants.map((v: any) => v.weight)).toEqual([25, 25])
  calm(page)
})

test('the history brings overrides of segments and identities back', async ({ page }) => {
  const rules = [{ type: 'ALL', rules: [{ type: 'ANY', conditions: [{ operator: 'EQUAL', property: 'p', value: 'third' }] }] }]
  const segment = await api.send('POST', '/api/v1/projects/1/segments/', { name: 'third', project: 1, rules })
  const path = `/api/__future__/environments/${key}/features/3/`
  const override = (value: string) => api.send('PATCH', path, { segment_overrides: [{ segment: { id: segment.id }, enabled: true, value: { type: 'integer', value } }] })
  const others = (await api.send('GET', path)).segment_overrides.length
  for (const value of ['31', '32']) await override(value)
  await api.send('DELETE', `${path}segment-overrides/${segment.id}/`)
  const identity = async (method: string, value?: number) =>
    api.send(method, `/api/v1/environments/${key}/edge-identities-featurestates`, { identifier: 'ida', feature: 3, enabled: true, feature_state_value: value })
  for (const value of [41, 42]) await identity('PUT', value)
  await identity('DELETE')

  await signIn(page, nodes[0]!.origin)
  await page.getByRole('link', { name: 'page_size' }).click()
  const panel = page.getByRole('complementary', { name: 'page_size' })
  await panel.getByRole('tab', { name: 'History' }).click()
  const undo = async (...texts: string[]) => {
    let event = panel.locator('.history-event')
    for (const hasText of texts) event = event.filter({ hasText })
    await event.first().getByRole('button').click()
    await expect(receipt(page, 'as before').last()).toContainText('live on 3 of 3')
    await receipt(page, 'as before').last().getByRole('button', { name: 'Dismiss' }).click()
    await expect(receipt(page, 'as before')).toHaveCount(0)
  }
  const segments = async () => (await api.send('GET', path)).segment_overrides.filter((o: any) => o.segment.id === segment.id).map((o: any) => o.value.value)
  await undo('Override for third removed')
  expect(await segments()).toEqual(['32'])
  await undo('Value for third', '31', '32')
  expect(await segments()).toEqual(['31'])
  await undo('Override for third made')
  expect(await segments()).toEqual([])
  expect((await api.send('GET', path)).segment_overrides).toHaveLength(others)

  const identities = async () => (await api.send('GET', `/api/v1/environments/${key}/edge-identity-overrides?feature=3`)).results.map((o: any) => o.feature_state.feature_state_value)
  await undo('Override for ida removed')
  expect(await identities()).toEqual([42])
  await undo('Override for ida made')
  expect(await identities()).toEqual([])
  await undo('Override for ida removed')
  await identity('PUT', 43)
  await undo('Value for ida', '42', '43')
  expect(await identities()).toEqual([42])
  calm(page)
})

test('the palette jumps to a flag by keyboard', async ({ page }) => {
  await signIn(page, nodes[0]!.origin)
  await page.keyboard.press('Control+k')
  await page.keyboard.type('checkout')
  await expect(page.getByRole('option', { selected: true })).toContainText('new_checkout')
  await page.keyboard.press('Enter')
  await expect(page.getByRole('complementary', { name: 'new_checkout' })).toBeVisible()
  await expect(page).toHaveURL(new RegExp(`/projects/1/environments/${key}/features/1$`))
  await page.keyboard.press('Escape')
  await expect(page.getByRole('complementary')).toBeHidden()
  calm(page)
})

test('text of a flag is text', async ({ page }) => {
  const evil = '<img src=x onerror="alert(1)"><script>alert(2)</script>'
  await api.send('POST', '/api/v1/projects/1/features/', { name: 'evil', description: evil, initial_value: `"'>${evil}` })
  await signIn(page, nodes[0]!.origin)
  await page.getByRole('link', { name: 'evil' }).click()
  const panel = page.getByRole('complementary', { name: 'evil' })
  await expect(panel).toContainText(evil)
  for (const tab of ['Compare', 'History', 'Settings', 'Overrides']) await panel.getByRole('tab', { name: tab }).click()
  expect(await page.locator('img').count()).toBe(0)
  const scripts = await page.locator('script').evaluateAll(all => all.map(s => (s as HTMLScriptElement).src))
  expect(scripts).toHaveLength(1)
  calm(page)
  const markup = await page.evaluate(() => {
    try {
      document.body.innerHTML = '<b>x</b>'
      return 'made'
    } catch (e) {
      return String(e)
    }
  })
  expect(markup).toContain('TrustedHTML')
})

for (const scheme of ['light', 'dark'] as const) {
  test(`axe finds nothing (${scheme})`, async ({ page }) => {
    await page.emulateMedia({ colorScheme: scheme, reducedMotion: 'reduce' })
    await page.goto(nodes[0]!.origin)
    await expect(page.getByLabel('E-mail address')).toBeVisible()
    await clean(page)
    await signIn(page, nodes[0]!.origin)
    await clean(page)
    await page.getByRole('link', { name: 'button_colour' }).click()
    const panel = page.getByRole('complementary', { name: 'button_colour' })
    for (const tab of ['Value', 'Overrides', 'Compare', 'History', 'Settings']) {
      await panel.getByRole('tab', { name: tab }).click()
      await expect(panel.locator('[aria-busy=true]')).toHaveCount(0)
      await clean(page)
    }
    await page.getByRole('button', { name: /^Organisation and project/ }).click()
    await clean(page)
    await page.keyboard.press('Escape')
    await page.keyboard.press('Control+k')
    await expect(page.getByRole('option').first()).toBeVisible()
    await clean(page)
    await page.keyboard.press('Escape')
    for (const [width, height] of [[3840, 2160], [360, 780]] as const) {
      await page.setViewportSize({ width, height })
      for (const tab of ['Value', 'Overrides', 'Compare', 'History', 'Settings']) {
        await panel.getByRole('tab', { name: tab }).click()
        await expect(panel.locator('[aria-busy=true]')).toHaveCount(0)
        await fits(page)
      }
      await clean(page)
      await panel.getByRole('button', { name: 'Close' }).click()
      await fits(page)
      await clean(page)
      await page.getByRole('link', { name: 'button_colour' }).click()
    }
  })
}

test('links to the server leave the page', async ({ page }) => {
  await signIn(page, nodes[0]!.origin)
  await page.getByRole('button', { name: /^Account/ }).click()
  await page.getByRole('menuitem', { name: 'API documentation' }).click()
  await expect(page).toHaveURL(/\/api\/v1\/docs\/$/)
})

test('an invited person makes an account and joins', async ({ page }) => {
  const origin = nodes[0]!.origin
  const { hash } = await api.send('POST', '/api/v1/organisations/1/invite-links/', { role: 'USER' })
  await page.goto(`${origin}/invite-link/${hash}`)
  await expect(page.getByRole('heading', { name: 'You are invited' })).toBeVisible()
  for (const [label, text] of [['First name', 'Bob'], ['Last name', 'Guest'], ['E-mail address', 'bob@example.com'], ['Password', password]]) await page.getByLabel(label!).fill(text!)
  await page.getByRole('button', { name: 'Make the account' }).click()
  await page.getByRole('button', { name: 'Join' }).click()
  await expect(page.getByText('My organisation')).toBeVisible()
  await page.getByRole('button', { name: /^Account/ }).click()
  await page.getByRole('menuitem', { name: 'Sign out', exact: true }).click()
  await expect(page.getByRole('heading', { name: 'Sign in to flagraft' })).toBeVisible()
  await page.getByRole('link', { name: 'Forgotten your password?' }).click()
  await page.getByLabel('E-mail address').fill('bob@example.com')
  await page.getByRole('button', { name: 'Send the link' }).click()
  await expect(page.getByRole('heading', { name: 'Look into your mail' })).toBeVisible()
})

test('a second factor is asked for', async ({ page }) => {
  const origin = nodes[0]!.origin
  await api.send('POST', '/api/v1/auth/users/', { email: 'two@example.com', password, first_name: 'Two', last_name: 'Factors' })
  const key = (await api.send('POST', '/api/v1/auth/login/', { email: 'two@example.com', password })).key
  const two = new API(origin, key)
  const { secret } = await two.send('POST', '/api/v1/auth/app/activate/')
  const { backup_codes } = await two.send('POST', '/api/v1/auth/app/activate/confirm/', { code: totp(secret) })
  await page.goto(origin)
  await page.getByLabel('E-mail address').fill('two@example.com')
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByLabel('Code').fill('000000')
  await page.getByRole('button', { name: 'Continue' }).click()
  await expect(page.getByRole('alert')).toContainText('Invalid or expired code')
  await page.getByLabel('Code').fill(backup_codes[0])
  await page.getByRole('button', { name: 'Continue' }).click()
  await expect(page.getByRole('heading', { name: 'Begin with a project' })).toBeVisible()
})

test('a lost node is left for another one', async ({ page }) => {
  await signIn(page, nodes[2]!.origin)
  await nodes[2]!.kill()
  await expect(page.getByRole('alert').filter({ hasText: /Node .* lost, going on with/ })).toBeVisible()
  const toggle = page.getByRole('switch', { name: 'new_checkout' })
  const was = await toggle.isChecked()
  await toggle.click()
  await expect(receipt(page, 'new_checkout switched')).toContainText(/live on [23] of [23] nodes/)
  expect((await flag(nodes[0]!.origin, key, 'new_checkout')).enabled).toBe(!was)
  calm(page)
})

test('the first account, organisation and project of an empty installation', async ({ page }) => {
  const [fresh] = await start(1)
  try {
    await page.goto(fresh!.origin)
    await expect(page.getByRole('heading', { name: 'Welcome to flagraft' })).toBeVisible()
    for (const [label, text] of [['First name', 'Ann'], ['Last name', 'Admin'], ['E-mail address', 'ann@example.com'], ['Password', 'short']]) await page.getByLabel(label!).fill(text!)
    await page.getByRole('button', { name: 'Make the first account' }).click()
    await expect(page.locator('.field-error')).toContainText('too short')
    await page.getByLabel('Password').fill(password)
    await page.getByRole('button', { name: 'Make the first account' }).click()
    await page.getByRole('button', { name: 'New project' }).click()
    await page.getByLabel('Organisation', { exact: true }).fill('Ann & sons')
    await page.getByLabel('Project', { exact: true }).fill('Shop')
    await page.getByRole('button', { name: 'Make the project' }).click()
    await expect(page.getByRole('heading', { name: 'No feature yet' })).toBeVisible()
    await page.getByRole('button', { name: 'New feature' }).click()
    await page.getByLabel('Name', { exact: true }).fill('hello')
    await page.getByRole('button', { name: 'Make the feature' }).click()
    await expect(page.getByRole('switch', { name: 'hello' })).not.toBeChecked()
    await page.getByRole('switch', { name: 'hello' }).click()
    await expect(receipt(page, 'hello switched on')).toContainText('live on 1 of 1 node after')
  } finally {
    await fresh!.kill()
  }
})
