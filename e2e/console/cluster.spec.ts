import { readFileSync } from 'node:fs'
import { expect, test, type Page } from '@playwright/test'
import { api, nodes, startDemo } from './demo'
import { run, type Node } from './nodes'
import { calm, clean, receipt, signIn } from './world'

startDemo()

let more: Node | undefined

test.afterAll(() => more?.kill())

const open = async (page: Page) => {
  await signIn(page, nodes[0]!.origin)
  await page.getByRole('link', { name: 'Cluster' }).click()
  await expect(page.getByRole('article')).toHaveCount(more ? 4 : 3)
}

const card = (page: Page, n: Node) => page.getByRole('article', { name: `Node ${new URL(n.origin).host}` })

test('the cluster page shows what the nodes do', async ({ page }) => {
  await open(page)
  await expect(page.locator('.page-lead')).toContainText('3 nodes, all healthy, one voter may fail')
  for (const n of nodes) {
    await expect(card(page, n).getByRole('img', { name: /^Requests in the last two minutes/ }).locator('polyline')).toHaveCount(1)
    await expect(card(page, n)).toContainText(/\d+(\.\d)? (MB|GB) free|\d+(\.\d)? TB free/)
    await expect(card(page, n)).toContainText(/Memory\d+/)
  }
  await expect(page.getByText('Healthy leader')).toHaveCount(1)
  await clean(page)
  calm(page)
})

test('backups are downloaded and scheduled', async ({ page }) => {
  await open(page)
  const download = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Download a backup' }).click()
  const file = await download
  expect(file.suggestedFilename()).toMatch(/^flagraft-.*\.backup$/)
  expect(readFileSync(await file.path()).length).toBeGreaterThan(1000)

  await page.getByRole('button', { name: 'New schedule' }).click()
  const dialog = page.getByRole('dialog', { name: 'New schedule' })
  await dialog.getByLabel('When').fill('often')
  await dialog.getByRole('button', { name: 'Make the schedule' }).click()
  await expect(dialog.locator('.field-error')).toContainText('not a schedule')
  await clean(page)
  await dialog.getByLabel('When').fill('6h')
  await dialog.getByRole('button', { name: 'Make the schedule' }).click()
  const row = page.getByRole('row', { name: /nightly/ })
  await expect(row).toContainText('never')
  await row.getByRole('button', { name: 'Run now' }).click()
  await expect(row).toContainText(/nightly-.*\.backup/)
  expect((await api.send('GET', '/api/flagraft/v1/backups/schedules/'))[0].last_bytes).toBeGreaterThan(1000)
  await clean(page)
  calm(page)
})

test('a backup comes from another node when the first does not give it, and says when somebody was signed out', async ({ page }) => {
  await open(page)
  const backup = `${nodes[0]!.origin}/api/flagraft/v1/backup/`
  await page.route(backup, r => r.abort())
  const download = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Download a backup' }).click()
  expect(readFileSync(await (await download).path()).length).toBeGreaterThan(1000)
  await expect(page.getByRole('alert').filter({ hasText: 'lost, going on with' })).toBeVisible()
  await page.unroute(backup)
  await page.route('**/flagraft/v1/backup/', async r => r.fulfill({ status: 401, headers: { 'Access-Control-Allow-Origin': '*' }, json: { detail: 'Invalid token.' } }))
  await page.getByRole('button', { name: 'Download a backup' }).click()
  await expect(page.getByText('You were signed out.')).toBeVisible()
})

test('a node is added with the command that is shown', async ({ page }) => {
  await open(page)
  await page.getByRole('button', { name: 'Add a node' }).click()
  const dialog = page.getByRole('dialog', { name: 'Add a node' })
  await expect(dialog.getByRole('status')).toContainText('Waiting for the node')
  await clean(page)
  more = await run((await dialog.getByRole('region', { name: 'Command' }).textContent())!)
  await expect(dialog.getByRole('status')).toContainText(`${new URL(more.origin).host} (`)
  await expect(dialog.getByRole('status')).toContainText('is a member and ready')
  await dialog.getByRole('button', { name: 'Done' }).click()
  await expect(card(page, more)).toContainText('Healthy')
  calm(page)
})

test('a node is removed after its id was typed', async ({ page }) => {
  await open(page)
  const node = card(page, more!)
  const id = (await node.locator('.node-name .mono').textContent())!
  await node.getByRole('button', { name: 'Remove…' }).click()
  const dialog = page.getByRole('dialog')
  await expect(dialog.getByRole('button', { name: 'Remove the node' })).toBeDisabled()
  await dialog.getByRole('textbox').fill(id)
  await dialog.getByRole('button', { name: 'Remove the node' }).click()
  await expect(page.getByRole('article')).toHaveCount(3)
  expect((await api.send('GET', '/api/flagraft/v1/cluster/')).members).toHaveLength(3)
  await more!.kill()
  more = undefined
  calm(page)
})

test('leadership is handed over', async ({ page }) => {
  await open(page)
  const voter = page.getByRole('article').filter({ hasNotText: 'Healthy leader' }).first()
  const id = (await voter.locator('.node-name .mono').textContent())!
  await voter.getByRole('button', { name: 'Make it the leader' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Hand over' }).click()
  await expect(receipt(page, 'leads')).toBeVisible()
  await expect(page.getByRole('article').filter({ hasText: 'Healthy leader' })).toContainText(id)
  expect((await api.send('GET', '/api/flagraft/v1/cluster/')).leader.slice(0, 8)).toBe(id)
  calm(page)
})

test('who is lost is visible', async ({ page }) => {
  await open(page)
  await nodes[2]!.kill()
  await expect(page.getByText(/Node .* is lost/)).toContainText(new URL(nodes[2]!.origin).host)
  await expect(card(page, nodes[2]!)).toContainText('Lost')
  await expect(card(page, nodes[0]!)).toContainText('Healthy')
  await clean(page)
  calm(page)
})
