import { expect, test, type Page } from '@playwright/test'
import { api, key, nodes, startDemoOf } from './demo'
import { API, clean, handed, logIn, receipt, signIn } from './world'

// Two people at one thing, what nobody knows to be done, and what one may not do, or not any more.

startDemoOf(1)

const make = (name: string, more: object = {}) => api.send('POST', '/api/v1/projects/1/features/', { name, ...more })
const rules = (value: string) => [{ type: 'ALL', rules: [{ type: 'ANY', conditions: [{ operator: 'EQUAL', property: 'p', value }] }] }]
const segment = (name: string) => api.send('POST', '/api/v1/projects/1/segments/', { name, project: 1, rules: rules('v') })
const go = async (page: Page, path: string) => {
  await signIn(page, nodes[0]!.origin)
  await page.goto(nodes[0]!.origin + path)
}
const panel = (page: Page) => page.locator('.side-panel')

test('what nobody knows to be done is not done twice by sending it again', async ({ page }) => {
  await go(page, `/projects/1/environments/${key}/webhooks`)
  const path = `/api/v1/environments/${key}/webhooks/`
  let lost = 1
  await page.route(`**${path}`, async r => {
    if (r.request().method() !== 'POST' || lost-- <= 0) return r.continue()
    expect((await r.fetch()).status()).toBe(201)
    await r.fulfill({ status: 503, json: { detail: 'The outcome of the write is unknown.' } })
  })
  const add = async () => {
    await page.getByRole('main').getByRole('button', { name: 'New webhook' }).first().click()
    await page.getByRole('dialog').getByLabel('Address').fill('https://hooks.example.com/')
    await page.getByRole('button', { name: 'Make the webhook' }).click()
  }
  await add()
  await expect(page.getByRole('dialog')).toContainText('The outcome of the write is unknown.')
  await page.getByRole('button', { name: 'Make the webhook' }).click()
  await expect(page.getByRole('dialog')).toHaveCount(0)
  expect(await api.send('GET', path)).toHaveLength(1)
  await add() // what is known to be done can be done again
  await expect.poll(async () => (await api.send('GET', path)).length).toBe(2)
})

test('who edits what somebody else saves is told, and can have what was typed back', async ({ page }) => {
  const { id } = await make('contested', { initial_value: 'old' })
  const state = `/api/__future__/environments/${key}/features/${id}/`
  await go(page, `/projects/1/environments/${key}/features/${id}`)
  const value = panel(page).getByRole('textbox', { name: 'Value of contested' })
  const back = panel(page).getByRole('button', { name: 'Bring back mine' })
  await value.fill('mine')
  await api.send('PATCH', state, { environment_default: { value: { type: 'string', value: 'theirs' } } })
  await expect(value).toHaveValue('theirs')
  await expect(panel(page).getByText('Somebody else saved this meanwhile')).toBeVisible()
  await clean(page)
  await panel(page).getByRole('button', { name: 'Close' }).click()
  await page.getByRole('link', { name: 'contested', exact: true }).click()
  await back.click()
  await expect(value).toHaveValue('mine')
  await expect(back).toHaveCount(0)
  await panel(page).getByRole('button', { name: 'Save', exact: true }).click()
  await expect(receipt(page, 'contested set to mine')).toContainText('live on 1 of 1 node')
  await expect(back).toHaveCount(0) // one's own change took nobody's place
  await api.send('PATCH', state, { environment_default: { value: { type: 'string', value: 'later' } } })
  await expect(value).toHaveValue('later')
  await expect(back).toHaveCount(0) // nothing was typed
})

test('a refused save leaves what was typed to be brought back', async ({ page }) => {
  const { id } = await make('refused', { initial_value: 'old' })
  const state = `/api/__future__/environments/${key}/features/${id}/`
  await go(page, `/projects/1/environments/${key}/features/${id}`)
  const value = panel(page).getByRole('textbox', { name: 'Value of refused' })
  await value.fill('mine, of an hour')
  await api.send('PATCH', state, { environment_default: { value: { type: 'string', value: 'theirs' } } })
  await expect(value).toHaveValue('theirs')
  await value.fill('something shorter')
  await page.route(`**${state}`, r => (r.request().method() === 'PATCH' ? r.fulfill({ status: 507, json: { detail: 'The cluster is read-only.' } }) : r.fallback()))
  await panel(page).getByRole('button', { name: 'Save', exact: true }).click()
  await expect(receipt(page, 'refused set to')).toContainText('read-only')
  const back = panel(page).getByRole('button', { name: 'Bring back mine' })
  await back.click()
  await expect(value).toHaveValue('mine, of an hour')
  await page.unroute(`**${state}`)
  await panel(page).getByRole('button', { name: 'Save', exact: true }).click()
  await expect(receipt(page, 'refused set to mine')).toContainText('live on 1 of 1 node')
  await expect(back).toHaveCount(0)
})

test('the list does not save over what somebody else set while one typed', async ({ page }) => {
  const { id } = await make('cell', { initial_value: 'old' })
  const stored = async () => (await api.send('GET', `/api/__future__/environments/${key}/features/${id}/`)).environment_default.value.value
  await go(page, `/projects/1/environments/${key}/features`)
  await page.getByRole('button', { name: 'Value of cell: old. Edit' }).click()
  const input = page.getByRole('textbox', { name: 'Value of cell' })
  await input.fill('mine')
  const read = await handed(page, '**/projects/1/features/?environment=*')
  await api.send('PATCH', `/api/__future__/environments/${key}/features/${id}/`, { environment_default: { value: { type: 'string', value: 'theirs' } } })
  await read()
  await page.getByRole('main').evaluate(() => new Promise(done => requestAnimationFrame(() => setTimeout(done)))) // it is drawn
  await input.press('Enter')
  await expect(receipt(page, 'cell not saved')).toContainText('set to theirs meanwhile')
  expect(await stored()).toBe('theirs')
  await expect(input).toHaveValue('mine')
  await input.press('Enter')
  await expect(receipt(page, 'cell set to mine')).toBeVisible()
  expect(await stored()).toBe('mine')
})

test('the history names a segment whose override went on a newer page', async ({ page }) => {
  const { id } = await make('paged')
  const change = (model: string, id: number, change_type: string, target: number | null, name: string, changes: object[]) => ({ model, id, change_type, scope: 'segment', target, name, changes })
  const event = (id: number, ...changes: object[]) => ({ id, index: id, time: '2026-01-01T00:00:00Z', author: { user: 1, name: 'Ann' }, changes })
  const newer = event(2, change('FeatureSegment', 7, 'DELETE', 3, 'beta', [{ field: 'priority', old: 0, new: null }]))
  const older = event(1, change('FeatureState', 9, 'CREATE', null, '', [{ field: 'feature_segment', old: null, new: 7 }, { field: 'enabled', old: null, new: true }]))
  await page.route('**/history/*', r => {
    const second = r.request().url().includes('before=')
    return r.fulfill({ json: { next: second ? null : `${new URL(r.request().url()).pathname}?before=2`, results: [second ? older : newer] } })
  })
  await go(page, `/projects/1/environments/${key}/features/${id}/history`)
  await panel(page).getByRole('button', { name: 'Older' }).click()
  await expect(panel(page).locator('.history-event')).toContainText('Switched on for beta')
})

test('more environments than a page holds are all there', async ({ page }) => {
  await page.route(/\/environments\/\?project=1/, async r => {
    const all = (await (await r.fetch({ url: nodes[0]!.origin + '/api/v1/environments/?project=1' })).json()).results
    const at = Number(new URL(r.request().url()).searchParams.get('page') ?? 1)
    await r.fulfill({ json: { count: all.length, next: at < all.length ? 'more' : null, results: all.slice(at - 1, at) } })
  })
  const other = (await api.environments()).find(e => e.name === 'Production')!
  await go(page, `/projects/1/environments/${other.api_key}/features`)
  await expect(page.getByRole('switch', { name: 'banner_text' })).toBeVisible()
  await page.getByRole('button', { name: /^Environment:/ }).click()
  await expect(page.getByRole('menuitemradio')).toHaveText([/Development/, /Production/])
})

test('of many identity overrides some are shown first', async ({ page }) => {
  const { id } = await make('crowded')
  const results = Array.from({ length: 250 }, (_, n) => ({
    identifier: `user${n}`, identity_uuid: `00000000-0000-0000-0000-${String(n).padStart(12, '0')}`,
    feature_state: { feature: id, enabled: true, feature_state_value: null, multivariate_feature_state_values: [], featurestate_uuid: '00000000-0000-0000-0000-000000000000' },
  }))
  await page.route('**/edge-identity-overrides?*', r => r.fulfill({ json: { results } }))
  await go(page, `/projects/1/environments/${key}/features/${id}/overrides`)
  await expect(panel(page).locator('.override')).toHaveCount(100)
  await panel(page).getByRole('button', { name: '100 of 250: show more' }).click()
  await panel(page).getByRole('button', { name: '200 of 250: show more' }).click()
  await expect(panel(page).locator('.override')).toHaveCount(250)
  await clean(page)
})

test('copying without a clipboard API leaves the focus where it was', async ({ page }) => {
  await page.addInitScript(() => Object.defineProperty(navigator, 'clipboard', { value: undefined })) // as over plain HTTP
  const { id } = await make('copied')
  await go(page, `/projects/1/environments/${key}/features/${id}`)
  await panel(page).getByRole('button', { name: 'Copy the name' }).press('Enter')
  await expect(panel(page).getByRole('button', { name: 'Copied' })).toBeFocused()
  await page.keyboard.press('Escape')
  await expect(panel(page)).toHaveCount(0)
})

test('a browser that keeps nothing shows the console all the same', async ({ page }) => {
  await page.addInitScript(() => {
    const refuse = () => {
      throw new DOMException('Access is denied for this document.', 'SecurityError')
    }
    for (const name of ['localStorage', 'sessionStorage']) Object.defineProperty(window, name, { get: refuse })
    Object.defineProperty(window, 'SharedWorker', { value: refuse })
  })
  const { id } = await make('forgotten')
  await signIn(page, nodes[0]!.origin)
  await expect(page.getByRole('switch', { name: 'forgotten' })).not.toBeChecked()
  await api.send('PATCH', `/api/__future__/environments/${key}/features/${id}/`, { environment_default: { enabled: true } })
  await expect(page.getByRole('switch', { name: 'forgotten' })).toBeChecked() // the stream is there
  await page.getByRole('button', { name: /^Account|admin@example.com/ }).first().click()
  await page.getByRole('menuitemradio', { name: 'Dark' }).click()
  await expect(page.locator('html')).toHaveAttribute('data-theme', 'dark')
})

test('others who change the order or add an override take no edited one away', async ({ page }) => {
  const { id } = await make('in order')
  const [a, b, c] = [(await segment('order a')).id, (await segment('order b')).id, (await segment('order c')).id]
  const put = (...overrides: [number, string][]) =>
    api.send('PUT', `/api/__future__/environments/${key}/features/${id}/`, {
      segment_overrides: overrides.map(([id, value], priority) => ({ segment: { id }, priority, enabled: true, value: { type: 'string', value }, variants: [] })),
    })
  await put([a, 'a'], [b, 'b'])
  await go(page, `/projects/1/environments/${key}/features/${id}/overrides`)
  const value = (name: string) => panel(page).getByRole('textbox', { name: `Value for ${name}` })
  const back = panel(page).getByRole('button', { name: 'Bring back mine' })
  await value('order a').fill('typed')
  await put([c, 'c'], [b, 'theirs'], [a, 'a'])
  await expect(value('order b')).toHaveValue('theirs')
  await expect(value('order a')).toHaveValue('typed')
  await expect(back).toHaveCount(0)
  await put([c, 'c'], [b, 'theirs'])
  await expect(value('order a')).toHaveCount(0)
  await back.click()
  await expect(value('order a')).toHaveValue('typed')
})

test('the history goes on beyond its first page', async ({ page }) => {
  const { id } = await make('busy', { initial_value: 'v0' })
  for (let n = 1; n <= 60; n++) await api.send('PATCH', `/api/__future__/environments/${key}/features/${id}/`, { environment_default: { value: { type: 'string', value: `v${n}` } } })
  await go(page, `/projects/1/environments/${key}/features/${id}/history`)
  const events = panel(page).locator('.history-event')
  await expect(events).toHaveCount(50)
  await panel(page).getByRole('button', { name: 'Older' }).click()
  await expect(events.first()).toContainText('v10')
  await expect(panel(page).getByRole('button', { name: 'Older' })).toBeDisabled()
  await panel(page).getByRole('button', { name: 'Newer' }).click()
  await expect(events.first()).toContainText('v60')
})

test('what one may not see any more is not shown on', async ({ page }) => {
  const { id } = await segment('secret')
  const uma = { email: 'uma@example.com', password: 'Sesame-open-4!', first_name: 'Uma', last_name: 'Berg' }
  const { id: user, key: token } = await new API(nodes[0]!.origin, '').send('POST', '/api/v1/auth/users/', uma)
  const { hash } = await api.send('POST', '/api/v1/organisations/1/invite-links/', { role: 'USER' })
  await new API(nodes[0]!.origin, token).send('POST', `/api/v1/users/join/link/${hash}/`)
  const may = () => api.send('POST', '/api/v1/projects/1/user-permissions/', { user, permissions: ['VIEW_PROJECT'], admin: false })
  const given = await may()
  await page.goto(`${nodes[0]!.origin}/projects/1/segments/${id}`)
  await logIn(page, uma)
  const heading = page.getByRole('main').getByRole('heading', { level: 1, name: 'secret' })
  await expect(heading).toBeVisible()
  await api.send('DELETE', `/api/v1/projects/1/user-permissions/${given.id}/`)
  await expect(page.getByRole('main')).toContainText(/permission|No Segment/)
  await expect(heading).toHaveCount(0)
  await may()
  await expect(heading).toBeVisible()
})

test('where invite links are off none is offered', async ({ page }) => {
  const known = await fetch(`${nodes[0]!.origin}/api/flagraft/v1/installation/`).then(r => r.json())
  expect(known.invite_links).toBe(true)
  await page.route('**/api/flagraft/v1/installation/', r => r.fulfill({ json: { ...known, invite_links: false } })) // --disable-invite-links
  await go(page, '/organisations/1/members/invitations')
  await expect(page.getByRole('main')).toContainText('takes no invite links')
  await expect(page.getByRole('button', { name: 'Make a link' })).toHaveCount(0)
  await expect(page.getByRole('main')).not.toContainText('Make a link below')
})

test('what has two blanks in its name is deleted by typing what one sees', async ({ page }) => {
  const { id } = await segment('two  blanks')
  await go(page, `/projects/1/segments/${id}`)
  await page.getByRole('button', { name: 'Delete…' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('textbox').fill('two')
  await expect(dialog.getByRole('button', { name: 'Delete the segment' })).toBeDisabled()
  await dialog.getByRole('textbox').fill('two blanks')
  await dialog.getByRole('button', { name: 'Delete the segment' }).click()
  await expect(page).toHaveURL(/segments$/)
})
