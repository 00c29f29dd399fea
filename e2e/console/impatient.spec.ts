import { expect, test, type Page } from '@playwright/test'
import { api, key, nodes, startDemoOf } from './demo'
import { calm, clean, fits, handed, logIn, receipt, signIn, watch } from './world'

// Somebody who types fast, looks elsewhere in the middle, and whose requests fail.

startDemoOf(1)

const here = () => `/projects/1/environments/${key}`
const make = (name: string, more: object = {}) => api.send('POST', '/api/v1/projects/1/features/', { name, ...more })
const state = (feature: number) => api.send('GET', `/api/__future__/environments/${key}/features/${feature}/`)
const option = (feature: number, string_value: string) =>
  api.send('POST', `/api/v1/projects/1/features/${feature}/mv-options/`, { feature, type: 'unicode', string_value, default_percentage_allocation: 0 })
const panel = (page: Page) => page.locator('.side-panel')
const refuse = (page: Page, path: string, status = 503) => page.route(path, r => r.fulfill({ status, contentType: 'application/json', body: '{"detail":"Not now."}' }))
/** gate is what a request waits for until the test opens it. */
const gate = () => {
  let open = () => {}
  return { promise: new Promise<void>(done => (open = done)), open: () => open() }
}
const go = async (page: Page, path: string) => {
  await signIn(page, nodes[0]!.origin)
  await page.goto(nodes[0]!.origin + path)
}

test('a share is what was typed', async ({ page }) => {
  const { id } = await make('shares')
  await option(id, 'blue')
  await go(page, `${here()}/features/${id}`)
  const share = panel(page).getByLabel('Share of blue in percent')
  for (const text of ['0.05', '100', '12.5']) {
    await share.press('ControlOrMeta+a')
    await share.pressSequentially(text)
    await expect(share).toHaveValue(text)
  }
  await panel(page).getByRole('button', { name: 'Save' }).click()
  await expect(receipt(page, 'Shares of shares changed')).toContainText('live')
  expect((await state(id)).environment_default.variants).toMatchObject([{ weight: 12.5 }])
  await share.fill('250')
  await share.blur()
  await expect(share).toHaveValue('100')
})

test('a value that is being typed outlives a new variant and a look at another tab', async ({ page }) => {
  const { id } = await make('drafted', { initial_value: 'old' })
  await go(page, `${here()}/features/${id}`)
  const value = panel(page).getByRole('textbox', { name: 'Value of drafted' })
  await value.fill('typed')
  await panel(page).getByRole('button', { name: 'Add a variant' }).click()
  await panel(page).getByRole('textbox', { name: 'Value of the new variant' }).fill('blue')
  await panel(page).getByRole('button', { name: 'Add', exact: true }).click()
  await expect(panel(page).getByLabel('Share of blue in percent')).toBeVisible()
  await expect(value).toHaveValue('typed')
  for (const name of ['Overrides', 'Compare', 'Settings', 'Value']) await panel(page).getByRole('tab', { name }).click()
  await expect(value).toHaveValue('typed')
  await clean(page)
  await api.send('PATCH', `/api/__future__/environments/${key}/features/${id}/`, { environment_default: { value: { type: 'string', value: 'theirs' } } })
  await expect(value).toHaveValue('theirs')
})

test('a segment that is being edited keeps what somebody else did not change', async ({ page }) => {
  const rules = [{ type: 'ALL', rules: [{ type: 'ANY', conditions: [{ operator: 'EQUAL', property: 'plan', value: 'x' }] }] }]
  const { id } = await api.send('POST', '/api/v1/projects/1/segments/', { name: 'edited', project: 1, rules })
  await go(page, `/projects/1/segments/${id}`)
  await page.getByLabel('Property').fill('country')
  await api.send('PATCH', `/api/v1/projects/1/segments/${id}/`, { description: 'of theirs' })
  await expect(page.getByLabel('Description')).toHaveValue('of theirs')
  await expect(page.getByLabel('Property')).toHaveValue('country')
})

test('switching off an override with a variant leaves its value alone', async ({ page }) => {
  const { id } = await make('varied', { initial_value: 'control' })
  const { id: blue } = await option(id, 'blue')
  const bob = await api.send('POST', `/api/v1/environments/${key}/identities/`, { identifier: 'bob' })
  const shares = [{ multivariate_feature_option: blue, percentage_allocation: 100 }]
  await api.send('PUT', `/api/v1/environments/${key}/edge-identities-featurestates`, { identifier: 'bob', feature: id, enabled: true, feature_state_value: 'own', multivariate_feature_state_values: shares })
  await go(page, `${here()}/identities/${bob.id}`)
  await page.getByRole('button', { name: 'Edit the override of varied' }).click()
  await page.getByRole('dialog').getByRole('switch').click()
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
  await expect(receipt(page, 'Override of varied for bob changed')).toBeVisible()
  const stored = async () => (await api.send('GET', `/api/v1/environments/${key}/identities/${bob.id}/featurestates/?feature=${id}`)).results[0]
  const own = { feature_state_value: 'own', multivariate_feature_state_values: [{ multivariate_feature_option: blue, percentage_allocation: 100 }] }
  expect(await stored()).toMatchObject({ enabled: false, ...own })
  await page.goto(`${nodes[0]!.origin}${here()}/features/${id}/overrides`)
  await panel(page).getByRole('switch', { name: 'varied for bob' }).click()
  await expect(receipt(page, 'varied switched on for bob')).toBeVisible()
  expect(await stored()).toMatchObject({ enabled: true, ...own })
  await panel(page).getByRole('button', { name: 'Remove the override for bob' }).click()
  await receipt(page, 'Override for bob removed').getByRole('button', { name: 'Undo' }).click()
  await expect(receipt(page, 'Override for bob is back')).toBeVisible()
  expect(await stored()).toMatchObject({ enabled: true, ...own })
})

test('an override that is there keeps its value when it is switched on by name', async ({ page }) => {
  const { id } = await make('named', { initial_value: 'common' })
  const featureStates = `/api/v1/environments/${key}/edge-identities-featurestates`
  await api.send('PUT', featureStates, { identifier: 'cleo', feature: id, enabled: false, feature_state_value: 'own' })
  const stored = async () => (await api.send('GET', `/api/v1/environments/${key}/edge-identity-overrides?feature=${id}`)).results.map((o: any) => [o.identifier, o.feature_state.enabled, o.feature_state.feature_state_value])
  await go(page, `${here()}/features/${id}/overrides`)
  const name = async (identifier: string) => {
    await panel(page).getByLabel('Identifier').fill(identifier)
    await panel(page).getByRole('button', { name: 'Switch on for it' }).click()
  }
  await name(' cleo ')
  await expect(receipt(page, 'named switched on for cleo')).toBeVisible()
  expect(await stored()).toEqual([['cleo', true, 'own']])
  await receipt(page, 'named switched on for cleo').getByRole('button', { name: 'Undo' }).click()
  await expect(receipt(page, 'named switched off for cleo')).toBeVisible()
  expect(await stored()).toEqual([['cleo', false, 'own']])
  await name('dora')
  await receipt(page, 'Override for dora made').getByRole('button', { name: 'Undo' }).click()
  await expect(receipt(page, 'Override for dora removed')).toBeVisible()
  expect(await stored()).toEqual([['cleo', false, 'own']])
})

test('the override of an identifier with blanks around it is its own', async ({ page }) => {
  const { id } = await make('blanks', { initial_value: 'common' })
  const asked = await fetch(`${nodes[0]!.origin}/api/v1/identities/?identifier=%20eve%20`, { headers: { 'X-Environment-Key': key } })
  expect(asked.ok).toBe(true)
  const eve = (await api.send('GET', `/api/v1/environments/${key}/edge-identities/?q=${encodeURIComponent('" eve "')}`)).results[0]
  await api.send('POST', `/api/v1/environments/${key}/edge-identities/${eve.identity_uuid}/edge-featurestates/`, { feature: id, enabled: true, feature_state_value: 'own' })
  const stored = async () => (await api.send('GET', `/api/v1/environments/${key}/edge-identity-overrides?feature=${id}`)).results.map((o: any) => [o.identifier, o.feature_state.enabled])
  await go(page, `${here()}/features/${id}/overrides`)
  await panel(page).getByRole('switch', { name: 'blanks for eve' }).click()
  await expect(receipt(page, 'blanks switched off for')).toBeVisible()
  expect(await stored()).toEqual([[' eve ', false]])
  await panel(page).getByRole('button', { name: 'Remove the override for' }).click()
  await expect(receipt(page, 'removed')).toBeVisible()
  expect(await stored()).toEqual([])
})

test('the history brings back what has other rows, or fewer variants, since', async ({ page }) => {
  const { id } = await make('since', { initial_value: 'common' })
  const [{ id: red }, { id: blue }] = [await option(id, 'red'), await option(id, 'blue')]
  const rules = [{ type: 'ALL', rules: [{ type: 'ANY', conditions: [{ operator: 'EQUAL', property: 'p', value: 'since' }] }] }]
  const segment = (await api.send('POST', '/api/v1/projects/1/segments/', { name: 'of-since', project: 1, rules })).id
  const path = `/api/__future__/environments/${key}/features/${id}/`
  await api.send('PATCH', path, { segment_overrides: [{ segment: { id: segment }, enabled: true, value: { type: 'string', value: 'seg' }, variants: [{ id: red, weight: 10 }, { id: blue, weight: 20 }] }] })
  await api.send('DELETE', `${path}segment-overrides/${segment}/`)
  const identity = (method: string, value?: string) =>
    api.send(method, `/api/v1/environments/${key}/edge-identities-featurestates`, { identifier: 'fay', feature: id, enabled: true, feature_state_value: value })
  await identity('PUT', '1')
  await identity('PUT', '2')
  await identity('DELETE')
  await identity('PUT', '3') // another row
  await api.send('DELETE', `/api/v1/projects/1/features/${id}/mv-options/${blue}/`)
  await go(page, `${here()}/features/${id}/history`)
  const events = panel(page).locator('.history-event')
  const fay = async () => (await api.send('GET', `/api/v1/environments/${key}/edge-identity-overrides?feature=${id}`)).results.map((o: any) => o.feature_state.feature_state_value)
  const undo = async (text: RegExp) => {
    await events.filter({ hasText: text }).first().getByRole('button', { name: /^Undo/ }).click()
    await expect(receipt(page, 'since as before')).toContainText('live')
    await receipt(page, 'since as before').getByRole('button', { name: 'Dismiss' }).click()
    await expect(receipt(page, 'since as before')).toHaveCount(0)
  }
  await undo(/Value for fay12/)
  expect(await fay()).toEqual(['1'])
  await undo(/Override for fay removed/)
  expect(await fay()).toEqual(['2'])
  await undo(/Override for of-since removed/)
  expect((await state(id)).segment_overrides).toMatchObject([{ enabled: true, value: { value: 'seg' }, variants: [{ id: red, weight: 10 }] }])
  // A variant cannot come back, so that nothing claims it.
  await expect(events.filter({ hasText: /Variant (made|removed)/ })).toHaveCount(3)
  await expect(events.filter({ hasText: /Variant (made|removed)/ }).getByRole('button')).toHaveCount(0)
  await expect(page.locator('.receipt.failed')).toHaveCount(0)
})

test('keys of an input method neither save nor close', async ({ page }) => {
  const { id } = await make('composed', { initial_value: 'old' })
  await go(page, `${here()}/features`)
  await page.getByRole('button', { name: /^Value of composed/ }).click()
  const cell = page.getByRole('textbox', { name: 'Value of composed' })
  await cell.fill('にほ')
  await cell.dispatchEvent('keydown', { key: 'Enter', isComposing: true })
  await expect(cell).toHaveValue('にほ')
  await cell.fill('日本')
  await cell.press('Enter')
  await expect(receipt(page, 'composed set to 日本')).toContainText('live')
  await page.getByRole('link', { name: 'composed', exact: true }).click()
  const value = panel(page).getByRole('textbox', { name: 'Value of composed' })
  await value.fill('日本語')
  await value.dispatchEvent('keydown', { key: 'Escape', isComposing: true })
  await expect(value).toHaveValue('日本語')
  expect((await state(id)).environment_default.value.value).toBe('日本')
})

test('a project whose environments failed is finished by trying again', async ({ page }) => {
  await signIn(page, nodes[0]!.origin)
  await page.getByRole('link', { name: 'flagraft' }).click()
  await refuse(page, '**/api/v1/environments/')
  await page.getByRole('button', { name: 'New project' }).click()
  await page.getByLabel('Project', { exact: true }).fill('Second')
  const button = page.getByRole('button', { name: 'Make the project' })
  await button.click()
  await expect(page.getByRole('alert').filter({ hasText: 'Not now.' })).toBeVisible()
  await page.unroute('**/api/v1/environments/')
  await button.click()
  await expect(page).toHaveURL(/\/environments\/.*\/features$/)
  expect((await api.send('GET', '/api/v1/projects/')).map((p: any) => p.name).sort()).toEqual(['Demo', 'Second'])
})

test('a link into another project does not mix it with the environment of the last one', async ({ page }) => {
  const { id } = await api.send('POST', '/api/v1/projects/', { name: 'Other', organisation: 1 })
  const { api_key } = await api.send('POST', '/api/v1/environments/', { name: 'Live', project: id })
  await go(page, `${here()}/features`)
  await expect(page.getByRole('switch', { name: 'banner_text' })).toBeVisible()
  await page.goto(`${nodes[0]!.origin}/projects/${id}/segments`)
  const link = page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Features', exact: true })
  await expect(link).toHaveAttribute('href', `/projects/${id}/environments/${api_key}/features`)
  await link.click()
  await expect(page.getByRole('heading', { name: 'No feature yet' })).toBeVisible()
})

test('addresses of nothing say so', async ({ page }) => {
  await go(page, `${here()}/features/99999`)
  await expect(page.getByRole('main')).toContainText('There is no such feature')
  await page.goto(`${nodes[0]!.origin}/projects/1/audit?from=yesterday`)
  await expect(page.getByRole('heading', { name: 'Audit log' })).toBeVisible()
  await expect(page.getByRole('main').locator('.empty')).toBeVisible()
  await page.goto(`${nodes[0]!.origin}/projects/nope/settings`)
  await expect(page.getByRole('main')).toContainText(/not found|No Project matches/i)
  await page.goto(nodes[0]!.origin)
  await page.getByRole('link', { name: 'Demo', exact: true }).click()
  await expect(page.getByRole('switch', { name: 'banner_text' })).toBeVisible()
  expect(await page.evaluate(() => localStorage.getItem('flagraft.place'))).not.toContain('null')
  calm(page)
})

test('what was refused is said', async ({ page }) => {
  await go(page, `${here()}/features`)
  await refuse(page, '**/api/__future__/**', 403)
  await page.getByRole('link', { name: 'banner_text', exact: true }).click()
  await expect(panel(page)).toContainText('Not now.')
  await expect(panel(page).locator('[aria-busy=true]')).toHaveCount(0)
  await refuse(page, '**/api/v1/auth/logout/')
  await page.getByRole('button', { name: /^Account/ }).click()
  await page.getByRole('menuitem', { name: /Sign out everywhere/ }).click()
  await expect(receipt(page, 'You are still signed in')).toContainText('Not now.')
  calm(page)
})

test('a start that is refused is no sign-out, and can be tried again', async ({ page }) => {
  await go(page, `${here()}/features`)
  await refuse(page, '**/api/v1/auth/users/me/')
  await page.reload()
  await expect(page.getByText('Not now.')).toBeVisible()
  await page.unroute('**/api/v1/auth/users/me/')
  await page.getByRole('button', { name: 'Try again' }).click()
  await expect(page.getByRole('switch', { name: 'banner_text' })).toBeVisible()
  await refuse(page, '**/api/v1/organisations/')
  await page.goto(nodes[0]!.origin)
  await expect(page.getByRole('main')).toContainText('Not now.')
})

test('a search that the address has no more is not shown any more', async ({ page }) => {
  const nav = page.getByRole('navigation', { name: 'Main' })
  for (const [path, link, label] of [[`${here()}/identities`, 'Identities', 'Search identities'], ['/projects/1/audit', 'Audit log', 'Search']] as const) {
    await go(page, path)
    const search = page.getByLabel(label, { exact: true })
    await search.fill('zzz')
    await expect(page).toHaveURL(/=zzz/)
    await nav.getByRole('link', { name: link }).click()
    await expect(page).not.toHaveURL(/zzz/)
    await expect(search).toHaveValue('')
    await page.evaluate(() => localStorage.clear())
  }
})

test('the longest names fit on a phone', async ({ page }) => {
  const name = (n: number) => 'W'.repeat(n)
  const { id } = await make(name(150), { initial_value: name(2000) })
  const rules = [{ type: 'ALL', rules: [{ type: 'ANY', conditions: [{ operator: 'EQUAL', property: name(300), value: name(900) }] }] }]
  const segment = await api.send('POST', '/api/v1/projects/1/segments/', { name: name(200), project: 1, rules })
  await api.send('PATCH', `/api/__future__/environments/${key}/features/${id}/`, { segment_overrides: [{ segment: { id: segment.id }, enabled: true, value: { type: 'string', value: name(900) } }] })
  const identity = await api.send('POST', `/api/v1/environments/${key}/identities/`, { identifier: name(1500) })
  await api.send('PUT', `/api/v1/environments/${key}/edge-identities-featurestates`, { identifier: name(1500), feature: id, enabled: true, feature_state_value: name(500) })
  await api.send('POST', '/api/v1/environments/', { name: name(200), project: 1 })
  await api.send('POST', '/api/v1/projects/', { name: name(200), organisation: 1 })
  await page.setViewportSize({ width: 1440, height: 800 })
  await go(page, '/')
  const feature = `${here()}/features/${id}`
  for (const width of [360, 1440]) {
    await page.setViewportSize({ width, height: 800 })
    for (const path of ['/', '/projects/1/settings', `/projects/1/segments/${segment.id}`, `${here()}/identities/${identity.id}`, `${feature}/overrides`, `${feature}/history`]) {
      await page.goto(nodes[0]!.origin + path)
      await expect(page.getByRole('main')).toContainText('WWWW')
      if (path.startsWith(feature)) await expect(panel(page).locator('.override, .history-event').first()).toBeVisible()
      await fits(page)
    }
  }
})

test('three quick ticks allow three things', async ({ page }) => {
  const { id } = await api.send('POST', '/api/v1/organisations/1/groups/', { name: 'quick' })
  await go(page, `/organisations/1/permissions/group/${id}`)
  const boxes = page.getByRole('region', { name: 'In the project Demo' }).getByRole('checkbox')
  await expect(boxes.nth(2)).toBeVisible()
  // The first change waits for the second tick, the second one for the third: what is read between them has not the second.
  const gates = [gate(), gate()]
  let writes = 0
  await page.route('**/api/v1/projects/1/user-group-permissions/**', async r => {
    if (r.request().method() !== 'GET') await gates[writes++]?.promise
    await r.continue()
  })
  const read = await handed(page, '**/api/v1/projects/1/user-group-permissions/**')
  await boxes.nth(0).click()
  await boxes.nth(1).click()
  gates[0]!.open()
  await read()
  await page.waitForTimeout(200) // until it is shown
  await boxes.nth(2).click()
  gates[1]!.open()
  await expect.poll(async () => (await api.send('GET', `/api/v1/projects/1/user-group-permissions/?group=${id}`))[0]?.permissions.length).toBe(3)
  for (const i of [0, 1, 2]) await expect(boxes.nth(i)).toBeChecked()
})

test('what another program of the same account changes at the same moment is shown', async ({ page }) => {
  await go(page, `${here()}/features/2/settings`)
  await expect(panel(page).getByRole('switch', { name: 'Archived' })).toBeVisible()
  for (const label of ['one', 'two', 'three', 'four']) {
    await page.evaluate(label => {
      const headers = { Authorization: `Token ${localStorage.getItem('flagraft.token')}`, 'Content-Type': 'application/json' }
      void fetch('/api/v1/projects/1/tags/', { method: 'POST', headers, body: JSON.stringify({ label, color: '#112233', description: '' }) })
      document.querySelector<HTMLElement>('.side-panel .panel-head .switch')!.click()
    }, label)
    await expect(panel(page).getByRole('checkbox', { name: label })).toBeVisible()
  }
})

test('a tab that is signed out leaves those alone who have signed in since', async ({ page, context }) => {
  await signIn(page, nodes[0]!.origin)
  const old = await context.newPage()
  watch(old)
  await old.goto(nodes[0]!.origin + here() + '/features')
  await expect(old.getByRole('switch', { name: 'banner_text' })).toBeVisible()
  // As when the answer about the old token comes late: the other tab has signed in again by then.
  await old.evaluate(() => localStorage.setItem('flagraft.token', 'of-somebody-else'))
  await refuse(old, '**/api/__future__/**', 401)
  await old.getByRole('switch', { name: 'banner_text' }).click()
  await expect(old.getByText('You were signed out.')).toBeVisible()
  expect(await old.evaluate(() => localStorage.getItem('flagraft.token'))).toBe('of-somebody-else')
  await logIn(old)
  await expect(old.getByRole('switch', { name: 'banner_text' })).toBeVisible()
})

test('an answer that comes slowly, but comes, is waited for', async ({ page }) => {
  test.setTimeout(120_000)
  const text = () => Array.from({ length: 20_000 }, () => String.fromCharCode(33 + Math.floor(Math.random() * 90))).join('')
  for (let i = 0; i < 3; i++) await make(`slow_${i}`, { initial_value: text() })
  await go(page, '/account')
  await expect(page.getByRole('heading', { level: 1, name: 'Account' })).toBeVisible()
  const network = await page.context().newCDPSession(page)
  await network.send('Network.enable')
  await network.send('Network.emulateNetworkConditions', { offline: false, latency: 100, downloadThroughput: 4000, uploadThroughput: 4000 })
  await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Features', exact: true }).click()
  await expect(page.getByRole('switch', { name: 'slow_2' }).or(page.getByRole('alert').filter({ hasText: 'No node' }))).toBeVisible({ timeout: 90_000 })
  await expect(page.getByRole('alert').filter({ hasText: 'No node' })).toHaveCount(0)
  await expect(page.getByRole('switch', { name: 'slow_2' })).toBeVisible()
})
