import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test, type Page } from '@playwright/test'
import { api, key, nodes, startDemo } from './demo'
import { API, calm, clean, flag, logIn, receipt, signIn, totp } from './world'

const lena = { email: 'lena@example.com', password: 'Sesame-open-2!', first_name: 'Lena', last_name: 'Keller' }

startDemo('--allow-private-webhooks', '--usage-per-minute', '0')

let receiver: Server
let heard: { event_type: string }[]

test.beforeAll(async () => {
  heard = []
  receiver = createServer((request, answer) => {
    let body = ''
    request.on('data', piece => (body += piece))
    request.on('end', () => {
      heard.push(JSON.parse(body))
      answer.writeHead(204).end()
    })
  })
  await new Promise<void>(done => receiver.listen(0, '127.0.0.1', done))
})

test.afterAll(() => receiver?.close())

const hook = () => `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`

const open = async (page: Page, link: string, nth = 0) => {
  await signIn(page, nodes[1]!.origin)
  await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: link, exact: true }).nth(nth).click()
  await expect(page.getByRole('heading', { level: 1 })).toBeVisible()
}

test('somebody is invited, joins, and gets permissions alone and through a group', async ({ page }) => {
  await open(page, 'Members')
  await page.getByRole('tab', { name: 'Invitations' }).click()
  await page.getByLabel('E-mail address').fill('max@example.com')
  await page.getByRole('button', { name: 'Invite', exact: true }).click()
  const invited = page.getByRole('row', { name: /max@example\.com/ })
  await expect(invited).toBeVisible()
  await expect(page.getByText('This installation sends no mail')).toBeVisible()
  await page.getByRole('button', { name: 'Make a link' }).click()
  const link = (await page.getByText(/\/invite-link\//).textContent())!
  await clean(page)
  await invited.getByRole('button', { name: /Take the invitation/ }).click()
  await expect(invited).toHaveCount(0)

  const made = await new API(nodes[2]!.origin, '').send('POST', '/api/v1/auth/users/', lena)
  const hers = new API(nodes[2]!.origin, made.key)
  await hers.send('POST', `/api/v1/users/join/link/${link.split('/').at(-1)}/`)
  await page.getByRole('tab', { name: /People/ }).click()
  const row = page.getByRole('row', { name: /lena@example\.com/ })
  await expect(row.getByLabel(/^Role of/)).toHaveValue('USER')
  await clean(page)

  await page.getByRole('tab', { name: /Groups/ }).click()
  await page.getByLabel('Name of a new group').fill('Web team')
  await page.getByRole('button', { name: 'Make the group' }).click()
  await page.getByLabel('Add somebody to Web team').selectOption(lena.email)
  await expect(page.getByRole('list', { name: 'People in Web team' })).toContainText('Lena Keller')
  await clean(page)
  await page.getByRole('link', { name: 'Permissions of Web team' }).click()
  await page.getByRole('checkbox', { name: /^View project/ }).check()
  await expect(receipt(page, 'View project allowed')).toContainText('Committed')
  expect(await hers.send('GET', '/api/v1/projects/1/my-permissions/')).toMatchObject({ permissions: ['VIEW_PROJECT'], admin: false })

  await page.getByRole('link', { name: 'Members' }).first().click()
  await page.getByRole('link', { name: `Permissions of ${lena.email}` }).click()
  await expect(page.getByText('Through Web team')).toBeVisible()
  await page.getByRole('checkbox', { name: /^View audit log/ }).check()
  await expect(receipt(page, 'View audit log allowed')).toContainText('Committed')
  await page.getByRole('checkbox', { name: /^View environment/ }).check()
  await expect(receipt(page, 'View environment allowed')).toContainText('Committed')
  await clean(page)
  expect((await hers.send('GET', '/api/v1/projects/1/my-permissions/')).permissions.sort()).toEqual(['VIEW_AUDIT_LOG', 'VIEW_PROJECT'])
  expect((await hers.send('GET', `/api/v1/environments/${key}/my-permissions/`)).permissions).toEqual(['VIEW_ENVIRONMENT'])
  await page.getByRole('checkbox', { name: /^View audit log/ }).uncheck()
  await expect(receipt(page, 'View audit log not allowed')).toContainText('Committed')
  await page.getByRole('switch', { name: 'Everything' }).last().click()
  await expect(receipt(page, 'Everything allowed')).toContainText('Committed')
  expect((await hers.send('GET', `/api/v1/environments/${key}/my-permissions/`)).admin).toBe(true)
  calm(page)
})

test('a role changes, and somebody is removed', async ({ page }) => {
  await open(page, 'Members')
  const row = page.getByRole('row', { name: /lena@example\.com/ })
  await row.getByLabel(/^Role of/).selectOption('Administrator')
  await expect(receipt(page, 'is an administrator')).toBeVisible()
  await row.getByRole('button', { name: 'Remove lena@example.com' }).click()
  await page.getByRole('button', { name: 'Remove from the organisation' }).click()
  await expect(row).toHaveCount(0)
  calm(page)
})

test('an API key is shown once and works until it is removed', async ({ page }) => {
  await open(page, 'API keys')
  await page.getByLabel('Name of a new key').fill('terraform')
  await page.getByRole('button', { name: 'Make the key' }).click()
  const secret = (await page.getByRole('status').locator('code').first().textContent())!
  const list = () => fetch(`${nodes[2]!.origin}/api/v1/projects/`, { headers: { Authorization: `Api-Key ${secret}` } }).then(r => r.status)
  expect(await list()).toBe(200)
  await clean(page)
  await page.reload()
  await expect(page.getByRole('row', { name: /terraform/ })).toBeVisible()
  await expect(page.getByText(secret)).toHaveCount(0)
  await page.getByRole('button', { name: 'Remove the key terraform' }).click()
  await page.getByRole('button', { name: 'Remove the key', exact: true }).click()
  await expect(page.getByText('There is none yet.')).toBeVisible()
  expect([401, 403]).toContain(await list())
  calm(page)
})

test('a webhook is tried, made, and shows its deliveries', async ({ page }) => {
  await open(page, 'Webhooks')
  await page.getByRole('button', { name: 'New webhook' }).click()
  const dialog = page.getByRole('dialog', { name: 'New webhook' })
  await dialog.getByLabel('Address').fill('http://127.0.0.1:1/')
  await dialog.getByRole('button', { name: 'Send an example' }).click()
  await expect(dialog.getByRole('status')).toContainText('The connection could not be made')
  await dialog.getByLabel('Address').fill(hook())
  await dialog.getByLabel('Secret').fill('s3cret')
  await dialog.getByRole('button', { name: 'Send an example' }).click()
  await expect(dialog.getByRole('status')).toContainText('It answered 204')
  await clean(page)
  await dialog.getByRole('button', { name: 'Make the webhook' }).click()
  await expect(page.getByRole('heading', { name: hook() })).toBeVisible()
  heard.length = 0
  const [state] = (await api.send('GET', `/api/v1/environments/${key}/featurestates/?feature=1`)).results
  await api.send('PATCH', `/api/v1/environments/${key}/featurestates/${state.id}/`, { enabled: !state.enabled })
  const row = page.getByRole('row', { name: /FLAG_UPDATED/ })
  await expect(row).toContainText('Delivered')
  await expect(row).toContainText('204')
  expect(heard.map(h => h.event_type)).toContain('FLAG_UPDATED')
  await page.getByLabel(/that are shown$/).selectOption('Refused')
  await expect(page.getByText('None is so.')).toBeVisible()
  await clean(page)
  await page.getByRole('button', { name: /^Delete…/ }).click()
  await page.getByRole('button', { name: 'Delete the webhook' }).click()
  await expect(page.getByRole('heading', { name: 'No webhook yet' })).toBeVisible()
  calm(page)
})

test('webhooks of the organisation hear of the audit log', async ({ page }) => {
  await open(page, 'Webhooks', 1)
  await page.getByRole('button', { name: 'New webhook' }).click()
  await page.getByLabel('Address').fill(hook())
  await page.getByRole('button', { name: 'Make the webhook' }).click()
  await expect(page.getByRole('heading', { name: hook() })).toBeVisible()
  await api.send('PATCH', '/api/v1/projects/1/features/2/', { description: 'heard of' })
  await expect(page.getByRole('row', { name: /AUDIT_LOG_CREATED/ }).first()).toContainText('Delivered')
  await page.getByRole('switch', { name: `Webhook ${hook()}` }).click()
  await expect(receipt(page, 'Webhook switched off')).toBeVisible()
  calm(page)
})

test('settings of an environment: hidden flags, versions, a copy', async ({ page }) => {
  const flags = () => fetch(`${nodes[2]!.origin}/api/v1/flags/`, { headers: { 'X-Environment-Key': key } }).then(r => r.json() as Promise<{ enabled: boolean }[]>)
  await open(page, 'Environment settings')
  await page.getByLabel('Flags that are off').selectOption('Clients do not get them')
  await expect(receipt(page, 'Flags that are off')).toContainText(/live on \d of \d node/)
  await expect.poll(async () => (await flags()).every(f => f.enabled)).toBe(true)
  await page.getByLabel('Banner').fill('Careful: customers are here')
  await page.getByRole('button', { name: 'Save' }).click()
  await expect(page.locator('.environment-banner')).toHaveText('Careful: customers are here')
  await page.getByRole('switch', { name: 'Keep versions' }).click()
  await expect(page.getByRole('switch', { name: 'Keep versions' })).toBeChecked()
  expect((await api.send('GET', `/api/v1/environments/${key}/`)).use_v2_feature_versioning).toBe(true)
  await clean(page)
  await page.getByRole('switch', { name: 'Keep versions' }).click()
  await page.getByRole('button', { name: 'Keep only what is live' }).click()
  await expect(page.getByRole('switch', { name: 'Keep versions' })).not.toBeChecked()
  await page.getByLabel('Name of the copy').fill('Staging')
  await page.getByRole('button', { name: 'Make the copy' }).click()
  await expect(page.getByRole('heading', { name: 'Settings of Staging' })).toBeVisible()
  const staging = (await api.environments()).find(e => e.name === 'Staging')!
  expect((await flag(nodes[0]!.origin, staging.api_key, 'page_size')).enabled).toBe((await flag(nodes[0]!.origin, key, 'page_size')).enabled)
  await page.getByRole('button', { name: 'Delete…' }).click()
  await page.getByRole('dialog').getByRole('textbox').fill('Staging')
  await page.getByRole('button', { name: 'Delete the environment' }).click()
  await expect(page.getByRole('heading', { name: /^Features/ })).toBeVisible()
  expect(await api.environments()).toHaveLength(2)
  calm(page)
})

test('settings of the project and the organisation', async ({ page }) => {
  await open(page, 'Project settings')
  await page.getByRole('switch', { name: 'New features begin off' }).click()
  await expect(page.getByRole('switch', { name: 'New features begin off' })).toBeChecked()
  await page.getByLabel('Name of a new environment').fill('Test')
  await page.getByRole('button', { name: 'Make the environment' }).click()
  await expect(page.getByRole('link', { name: 'Test', exact: true })).toBeVisible()
  await clean(page)
  await page.getByRole('link', { name: 'Organisation settings' }).click()
  await page.getByRole('textbox', { name: 'Name' }).fill('Demo & daughters')
  await page.getByRole('button', { name: 'Save' }).click()
  await expect(page.getByRole('heading', { name: 'Settings of Demo & daughters' })).toBeVisible()
  await page.getByRole('switch', { name: 'Everybody has a second factor' }).click()
  await expect(page.getByText('Demo & daughters wants everybody to have a second factor.')).toBeVisible()
  await clean(page)
  await page.getByRole('switch', { name: 'Everybody has a second factor' }).click()
  await expect(page.getByText('wants everybody')).toHaveCount(0)
  calm(page)
})

test('usage by day', async ({ page }) => {
  for (let i = 0; i < 7; i++) await flag(nodes[i % 3]!.origin, key, 'page_size')
  const counted = async () => (await api.send('GET', '/api/v1/organisations/1/usage-data/')).reduce((sum: number, d: { flags: number }) => sum + d.flags, 0)
  await expect.poll(counted, { timeout: 30_000 }).toBeGreaterThanOrEqual(7)
  await open(page, 'Usage')
  await expect(page.getByRole('img', { name: /^Requests a day for 30 days/ })).toBeVisible()
  await expect(page.locator('.columns rect.kind0').last()).not.toHaveAttribute('height', '0')
  const cells = page.getByRole('table', { name: 'Requests by day' }).locator('tbody tr').first().locator('td')
  expect(Number(await cells.first().textContent())).toBeGreaterThanOrEqual(7)
  await page.getByLabel('Period').selectOption('90 days')
  await expect(page.getByRole('img', { name: /^Requests a day for 90 days/ })).toBeVisible()
  await clean(page)
  calm(page)
})

test('a password and a second factor', async ({ page }) => {
  const enter = async (password: string) => {
    await page.getByLabel('E-mail address').fill(lena.email)
    await page.getByLabel('Password').fill(password)
    await page.getByRole('button', { name: 'Sign in' }).click()
  }
  await page.goto(nodes[2]!.origin)
  await enter(lena.password)
  await page.getByRole('button', { name: /^Account/ }).click()
  await page.getByRole('menuitem', { name: /^Account/ }).click()
  await page.getByLabel('Present password').fill('wrong')
  await page.getByLabel('New password').fill('Sesame-open-9!')
  await page.getByLabel('Once more').fill('Sesame-open-9!')
  await page.getByRole('button', { name: 'Change the password' }).click()
  await expect(page.locator('.field-error')).toBeVisible()
  await page.getByLabel('Present password').fill(lena.password)
  await page.getByRole('button', { name: 'Change the password' }).click()
  await expect(receipt(page, 'Password changed')).toBeVisible()

  await page.getByRole('button', { name: 'Set it up' }).click()
  await expect(page.getByRole('img', { name: 'The secret for an authenticator app' })).toBeVisible()
  const secret = (await page.locator('.enrol code').textContent())!
  await clean(page)
  await page.getByLabel('Code that the app shows').fill('000000')
  await page.getByRole('button', { name: 'Switch it on' }).click()
  await expect(page.locator('.enrol .field-error')).toContainText('invalid')
  await page.getByLabel('Code that the app shows').fill(totp(secret))
  await page.getByRole('button', { name: 'Switch it on' }).click()
  const backup = (await page.locator('.once code').textContent())!.split(/\s+/)
  expect(backup).toHaveLength(5)
  await clean(page)

  await page.getByRole('button', { name: 'Sign out here' }).click()
  await enter('Sesame-open-9!')
  await page.getByLabel('Code').fill(backup[0]!)
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByRole('button', { name: /^Account/ }).click()
  await page.getByRole('menuitem', { name: /^Account/ }).click()
  await page.getByRole('button', { name: 'Switch off…' }).click()
  await page.getByRole('button', { name: 'Switch it off' }).click()
  await expect(page.getByRole('button', { name: 'Set it up' })).toBeVisible()
})

for (const scheme of ['dark', 'light'] as const) {
  test(`axe finds nothing on a phone (${scheme})`, async ({ page }) => {
    await page.setViewportSize({ width: 360, height: 780 })
    await page.emulateMedia({ colorScheme: scheme, reducedMotion: 'reduce' })
    await signIn(page, nodes[0]!.origin)
    const environment = `/projects/1/environments/${key}`
    const pages = [
      ...['members', 'members/groups', 'members/invitations', 'usage', 'webhooks', 'api-keys', 'settings'].map(p => `/organisations/1/${p}`),
      ...['keys', 'webhooks', 'settings'].map(p => `${environment}/${p}`),
      '/projects/1/audit', '/projects/1/settings', '/cluster', '/changes', '/account',
    ]
    for (const path of pages) {
      await page.goto(nodes[0]!.origin + path)
      await expect(page.getByRole('heading', { level: 1 })).toBeVisible()
      await clean(page)
      expect(await page.evaluate(() => document.documentElement.scrollWidth), `${path} is not wider than the screen`).toBeLessThanOrEqual(360)
    }
    calm(page)
  })
}

test('a member sees at once what is allowed or not any more, and no button that is refused', async ({ page }) => {
  const nils = { email: 'nils@example.com', password: 'Sesame-open-3!', first_name: 'Nils', last_name: 'Berg' }
  const { id, key: token } = await new API(nodes[0]!.origin, '').send('POST', '/api/v1/auth/users/', nils)
  const { hash } = await api.send('POST', '/api/v1/organisations/1/invite-links/', { role: 'USER' })
  await new API(nodes[0]!.origin, token).send('POST', `/api/v1/users/join/link/${hash}/`)
  await page.goto(nodes[0]!.origin)
  await logIn(page, nils)
  await expect(page.getByRole('heading', { name: 'Begin with a project' })).toBeVisible()
  const allow = (path: string, permissions: string[]) => api.send('POST', `${path}user-permissions/`, { user: id, permissions, admin: false })
  const inProject = await allow('/api/v1/projects/1/', ['VIEW_PROJECT'])
  const inEnvironment = await allow(`/api/v1/environments/${key}/`, ['VIEW_ENVIRONMENT'])
  await page.getByRole('main').getByRole('link', { name: 'Demo' }).click()
  await expect(page.getByRole('switch', { name: 'banner_text' })).toBeVisible()
  await api.send('DELETE', `/api/v1/environments/${key}/user-permissions/${inEnvironment.id}/`)
  await expect(page.getByText('There is no such environment.')).toBeVisible()
  await expect(page.getByRole('switch', { name: 'banner_text' })).toHaveCount(0)
  await api.send('DELETE', `/api/v1/projects/1/user-permissions/${inProject.id}/`)

  await page.goto(`${nodes[0]!.origin}/organisations/1/members/groups`)
  await expect(page.getByRole('row', { name: /nils@example\.com/ })).toBeVisible()
  await expect(page.getByRole('tab')).toHaveText([/People/])
  const group = await api.send('POST', '/api/v1/organisations/1/groups/', { name: 'Fleet' })
  await api.send('POST', `/api/v1/organisations/1/groups/${group.id}/add-users/`, { user_ids: [id] })
  await api.send('POST', `/api/v1/organisations/1/groups/${group.id}/users/${id}/make-admin`)
  await page.getByRole('tab', { name: /Groups/ }).click()
  await expect(page.getByRole('list', { name: 'People in Fleet' })).toContainText('Nils Berg')
  await expect(page.getByRole('button', { name: 'Take nils@example.com out of Fleet' })).toHaveCount(0)
  await expect(page.getByLabel('Name of a new group')).toHaveCount(0)
  await page.getByLabel('Add somebody to Fleet').selectOption('admin@example.com')
  await expect(page.getByRole('button', { name: 'Take admin@example.com out of Fleet' })).toBeVisible()
  await api.send('POST', '/api/v1/organisations/1/user-permissions/', { user: id, permissions: ['MANAGE_USER_GROUPS'] })
  await expect(page.getByLabel('Name of a new group')).toBeVisible()
})
