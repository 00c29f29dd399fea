import { expect, test } from '@playwright/test'
import { api, key, nodes, startDemo } from './demo'
import { many, makeMany } from './many'
import { calm, flag, receipt, signIn } from './world'

startDemo()

test.beforeAll(() => makeMany(api))

test('a thousand flags are scrolled, searched, filtered and switched', async ({ page }) => {
  await signIn(page, nodes[0]!.origin)
  const table = page.getByRole('table', { name: 'Features' })
  const heading = page.getByRole('heading', { level: 1 })
  await expect(heading).toHaveText(`Features ${many}`)
  await expect(table).toHaveAttribute('aria-rowcount', String(many + 1))
  expect(await table.getByRole('switch').count()).toBeLessThan(60) // only what is in sight is made

  await page.locator('.table').evaluate(e => e.scrollTo({ top: e.scrollHeight }))
  await expect(table.locator(`[aria-rowindex="${many + 1}"]`)).toBeInViewport()

  const search = page.getByLabel('Search features')
  await search.fill('flag_07 number')
  await expect(heading).toHaveText(`Features 100 of ${many}`)
  await page.getByRole('button', { name: /^State/ }).click()
  await page.getByRole('menuitemradio', { name: 'On', exact: true }).click()
  await expect(heading).toHaveText(`Features 50 of ${many}`)
  await search.fill('flag_0778')
  await expect(table.getByRole('switch')).toHaveCount(1)
  await table.getByRole('switch', { name: 'flag_0778' }).click()
  await expect(receipt(page, 'flag_0778 switched off')).toContainText('live on 3 of 3 nodes')
  for (const n of nodes) expect((await flag(n.origin, key, 'flag_0778')).enabled).toBe(false)
  await expect(page.getByRole('heading', { name: 'No feature passes the filters' })).toBeVisible()
  calm(page)
})
