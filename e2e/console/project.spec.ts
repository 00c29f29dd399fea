import { expect, test, type Page } from '@playwright/test'
import { api, key, nodes, startDemo } from './demo'
import { calm, clean, flag, receipt, signIn } from './world'

startDemo()

const open = async (page: Page, link: string) => {
  await signIn(page, nodes[1]!.origin)
  await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: link, exact: true }).click()
  await expect(page.getByRole('heading', { level: 1 })).toBeVisible()
}

const status = async (k: string) => (await fetch(`${nodes[2]!.origin}/api/v1/flags/`, { headers: { 'X-Environment-Key': k } })).status

test('server keys are made, switched off and removed; each language has its example', async ({ page }) => {
  await open(page, 'SDK keys')
  await expect(page.getByText(key).first()).toBeVisible()
  await page.getByLabel('Name of a new server key').fill('backend')
  await page.getByRole('button', { name: 'Make a server key' }).click()
  await expect(receipt(page, 'Server key backend made')).toContainText(/live on \d of \d node/)
  const row = page.getByRole('row', { name: /backend/ })
  const secret = (await row.locator('code').textContent())!
  expect(secret).toMatch(/^ser\./)
  await expect.poll(() => status(secret)).toBe(200)

  const example = page.getByRole('region', { name: 'Example' })
  const languages = ['JavaScript', 'React', 'Node', 'Python', 'Java', 'Go', '.NET', 'Ruby', 'PHP', 'Rust', 'Swift (iOS)', 'Kotlin (Android)', 'Flutter', 'curl']
  for (const name of languages) {
    await page.getByRole('tab', { name, exact: true }).click()
    await expect(example).toContainText(key)
    await expect(example).toContainText(`${nodes[1]!.origin}/api/v1/`)
  }
  await page.getByRole('tab', { name: 'Python' }).click()
  await page.getByLabel('Key', { exact: true }).selectOption({ label: 'Server key: backend' })
  await expect(example).toContainText(secret)
  await clean(page)

  await row.getByRole('switch').click()
  await expect(receipt(page, 'switched off')).toContainText(/live on \d of \d node/)
  await expect.poll(() => status(secret)).toBe(403)
  await row.getByRole('button', { name: 'Remove the key backend' }).click()
  await page.getByRole('button', { name: 'Remove the key', exact: true }).click()
  await expect(row).toHaveCount(0)
  calm(page)
})

test('the audit log is filtered, and tells from what to what', async ({ page }) => {
  await api.send('PATCH', '/api/v1/projects/1/features/2/', { description: 'of the first page' })
  await api.send('POST', '/api/v1/projects/1/segments/', { name: 'audited', project: 1, rules: [{ type: 'ALL', rules: [{ type: 'ANY', conditions: [{ operator: 'EQUAL', property: 'p', value: 'v' }] }] }] })
  await open(page, 'Audit log')
  await expect(page.locator('.log-row', { hasText: 'audited' })).toBeVisible()
  await page.getByLabel('Kind').selectOption('Feature')
  await expect(page.locator('.log-row', { hasText: 'audited' })).toHaveCount(0)
  await page.locator('.log-line').first().click()
  const diff = page.getByRole('row', { name: /^description/ })
  await expect(diff.locator('ins')).toHaveText('of the first page')
  await clean(page)
  await page.getByLabel('Search').fill('no such thing')
  await expect(page.getByRole('heading', { name: 'Nothing passes the filters' })).toBeVisible()
  await page.getByLabel('Search').fill('')
  await page.getByLabel('Author').selectOption('admin@example.com')
  await expect(page.locator('.log-row').first()).toBeVisible()
  await page.getByLabel('From').fill('2000-01-01')
  await page.getByLabel('To').fill('2000-01-02')
  await expect(page.getByRole('heading', { name: 'Nothing passes the filters' })).toBeVisible()
  await page.reload()
  await expect(page.getByLabel('To')).toHaveValue('2000-01-02')
  calm(page)
})

test('all changes of the installation, live', async ({ page }) => {
  await open(page, 'All changes')
  await api.send('POST', '/api/v1/projects/1/tags/', { label: 'noted', color: '#112233' })
  const row = page.locator('.log-row', { hasText: 'Tag made' }).first()
  await row.getByRole('button').click()
  await expect(row.getByRole('row', { name: /^label/ }).locator('ins')).toHaveText('noted')
  await clean(page)
  await page.getByLabel('Table').fill('Nothing')
  await expect(page.getByRole('heading', { name: 'Nothing passes the filter' })).toBeVisible()
  calm(page)
})
