import { expect, test, type Page } from '@playwright/test'
import { api, key, nodes, startDemoOf } from './demo'
import { API, clean, logIn, receipt, signIn } from './world'

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
