import { expect, test, type Page } from '@playwright/test'
import { api, identify, key, nodes, startDemo } from './demo'
import { calm, clean, fits, flag, receipt, signIn } from './world'

startDemo()

test.beforeAll(async () => {
  for (let i = 0; i < 30; i++) await identify(`user${i}`, { plan: ['premium', 'pro', 'free'][i % 3], age: 10 + i })
})

async function open(page: Page, name: string) {
  await signIn(page, nodes[0]!.origin)
  await page.getByRole('link', { name: 'Segments', exact: true }).click()
  await expect(page.getByRole('heading', { level: 1, name: /^Segments/ })).toBeVisible()
  await page.getByRole('link', { name }).click()
}

const condition = (page: Page, number: string) => page.getByRole('group', { name: `Condition ${number}`, exact: true })

test('rules are built, refused at the field, saved, and decide', async ({ page }) => {
  await open(page, 'New segment')
  const main = page.getByRole('form', { name: 'Segment' })
  await main.getByLabel('Name').fill('buyers')
  await condition(page, '1').getByLabel('Property').fill('plan')
  await condition(page, '1').getByLabel('Operator').selectOption('is one of')
  await condition(page, '1').getByLabel('Values').fill('pro,premium')
  await main.getByRole('button', { name: 'Condition', exact: true }).click()
  await condition(page, '2').getByLabel('Operator').selectOption('is at least')
  await condition(page, '2').getByLabel('Value').fill('18')
  await main.getByRole('button', { name: 'Make the segment' }).click()
  await expect(condition(page, '2').getByRole('alert')).toHaveText('This field may not be blank.')
  await expect(condition(page, '2').getByLabel('Property')).toHaveAttribute('aria-invalid', 'true')
  await condition(page, '2').getByLabel('Property').fill('age')
  await condition(page, '2').getByRole('button', { name: 'Or: another condition beside 2' }).click()
  await condition(page, '2.2').getByLabel('Property').fill('$.identity.identifier')
  await condition(page, '2.2').getByLabel('Operator').selectOption('matches the pattern')
  await condition(page, '2.2').getByLabel('Pattern').fill('user1')
  await expect(main.locator('.sentence')).toHaveText('Users where all of: plan is one of pro, premium; and (age is at least 18 or the identifier matches the pattern user1).')
  await main.getByRole('button', { name: 'Make the segment' }).click()
  await expect(receipt(page, 'Segment buyers made')).toContainText('Committed at index')
  await expect(page.getByRole('heading', { level: 1, name: 'buyers' })).toBeVisible()
  await expect(page.getByRole('region', { name: 'Stored identities' })).toContainText(/15 of 30 match/)

  const id = Number(/segments\/(\d+)$/.exec(page.url())![1])
  const stored = await api.send('GET', `/api/v1/projects/1/segments/${id}/`)
  expect(stored.rules[0].rules.map((r: any) => r.conditions.map((c: any) => [c.property, c.operator, c.value]))).toEqual([
    [['plan', 'IN', 'pro,premium']],
    [['age', 'GREATER_THAN_INCLUSIVE', '18'], ['$.identity.identifier', 'REGEX', 'user1']],
  ])
  const ids = stored.rules[0].rules.flatMap((r: any) => r.conditions.map((c: any) => c.id))
  await api.send('POST', `/api/v1/environments/${key}/features/2/create-segment-override/`, {
    enabled: true, feature_state_value: { string_value: 'for buyers', type: 'unicode' }, feature_segment: { segment: id, priority: 0 },
  })
  const text = async (name: string, traits: Record<string, unknown>) => (await identify(name, traits)).banner_text!.feature_state_value
  await expect.poll(() => text('ann', { plan: 'pro', age: 30 })).toBe('for buyers')
  expect(await text('bob', { plan: 'free', age: 30 })).not.toBe('for buyers')
  await expect(page.getByRole('region', { name: 'Features that it overrides' })).toContainText('banner_text in Development')

  await condition(page, '1').getByLabel('Values').fill('pro,premium,free')
  await main.getByRole('button', { name: 'Save' }).click()
  await expect(receipt(page, 'Segment buyers changed')).toContainText('live on 3 of 3 nodes')
  expect(await text('bob', { plan: 'free', age: 30 })).toBe('for buyers')
  const after = await api.send('GET', `/api/v1/projects/1/segments/${id}/`)
  expect(after.rules[0].rules.flatMap((r: any) => r.conditions.map((c: any) => c.id))).toEqual(ids)
  await receipt(page, 'Segment buyers changed').getByRole('button', { name: 'Undo' }).click()
  await expect(condition(page, '1').getByLabel('Values')).toHaveValue('pro,premium')
  calm(page)
})

test('every operator reads back as it was made', async ({ page }) => {
  await open(page, 'New segment')
  const main = page.getByRole('form', { name: 'Segment' })
  await main.getByLabel('Name').fill('everything')
  const rows: [operator: string, fill: Record<string, string>, stored: string, reads: string][] = [
    ['is', { Value: 'a' }, 'a', 'p is a'],
    ['is not', { Value: 'a' }, 'a', 'p is not a'],
    ['is one of', { Values: 'a,b' }, 'a,b', 'p is one of a, b'],
    ['contains', { Value: 'a' }, 'a', 'p contains a'],
    ['does not contain', { Value: 'a' }, 'a', 'p does not contain a'],
    ['is more than', { Value: '1' }, '1', 'p is more than 1'],
    ['is at least', { Value: '1' }, '1', 'p is at least 1'],
    ['is less than', { Value: '1' }, '1', 'p is less than 1'],
    ['is at most', { Value: '1' }, '1', 'p is at most 1'],
    ['matches the pattern', { Pattern: 'a.*' }, 'a.*', 'p matches the pattern a.*'],
    ['is set', {}, '', 'p is set'],
    ['is not set', {}, '', 'p is not set'],
    ['falls in the first … %', { Percentage: '12.5' }, '12.5', 'p falls in the first 12.5 %'],
    ['divided by … leaves …', { Divisor: '3', Remainder: '1' }, '3|1', 'p divided by 3 leaves 1'],
  ]
  for (const [i, [operator, fill]] of rows.entries()) {
    if (i > 0) await main.getByRole('button', { name: 'Condition', exact: true }).click()
    const c = condition(page, String(i + 1))
    await c.getByLabel('Property').fill('p')
    await c.getByLabel('Operator').selectOption(operator)
    for (const [label, value] of Object.entries(fill)) await c.getByLabel(label, { exact: true }).fill(value)
  }
  await condition(page, '7').getByRole('checkbox', { name: 'version' }).check()
  await condition(page, '7').getByLabel('Value').fill('1.10.0')
  await main.getByRole('button', { name: 'Group', exact: true }).click()
  await main.getByLabel('How many of group 15').selectOption('none')
  for (const n of ['15.1', '15.2']) await condition(page, n).getByLabel('Property').fill('q')
  await condition(page, '15.2').getByLabel('Operator').selectOption('is set')
  await condition(page, '15.1').getByLabel('Value').fill('z')
  await main.getByRole('button', { name: 'And also: another block' }).click()
  const last = main.getByRole('group', { name: 'block 2', exact: true })
  await last.getByRole('group', { name: 'Condition 2.1' }).getByLabel('Operator').selectOption('falls in the first … %')
  await last.getByRole('group', { name: 'Condition 2.1' }).getByLabel('Percentage').fill('50')
  const reads = rows.map(r => (r[0] === 'is at least' ? 'p is at least version 1.10.0' : r[3])).join('; and ')
  await expect(main.locator('.sentence')).toHaveText(`Users where all of: ${reads}; and neither (q is z nor q is set); and also the identity falls in the first 50 %.`)
  await main.getByRole('button', { name: 'Make the segment' }).click()
  await expect(page.getByRole('heading', { level: 1, name: 'everything' })).toBeVisible()
  const stored = (await api.send('GET', '/api/v1/projects/1/segments/?q=everything')).results[0]
  expect(stored.rules[0].rules.slice(0, 14).map((r: any) => r.conditions[0].value)).toEqual(rows.map(r => (r[0] === 'is at least' ? '1.10.0:semver' : r[2])))
  expect(stored.rules[0].rules[14].type).toBe('NONE')
  expect(stored.rules[1].rules[0].conditions[0]).toMatchObject({ operator: 'PERCENTAGE_SPLIT', property: null, value: '50' })
  await page.reload()
  await expect(main.locator('.sentence')).toContainText('p is at least version 1.10.0')
  calm(page)
})

test('the tester says who matches and why, saved or not', async ({ page }) => {
  await open(page, 'buyers')
  const aside = page.getByRole('complementary', { name: 'Try the rules' })
  const verdict = aside.getByRole('status')
  await aside.getByLabel('Traits as JSON').fill('{"plan": "pro", "age": 17}')
  await expect(verdict).toHaveText(/Does not match/)
  await expect(aside.locator('.tree')).toContainText(['does not hold: age is at least 18 – is 17'])
  await aside.getByLabel('Identifier').fill('user1')
  await expect(verdict).toHaveText(/Matches/)
  await expect(aside).toContainText('Is stored: the traits below are laid over its own.')
  await aside.getByLabel('Traits as JSON').fill('[{"trait_key": "plan", "trait_value": null}]')
  await expect(aside.locator('.tree')).toContainText(['plan is one of pro, premium – not there'])
  await aside.getByLabel('Traits as JSON').fill('{"plan": ')
  await expect(aside.getByText('This is no JSON')).toBeVisible()
  await aside.getByLabel('Traits as JSON').fill('{"plan": "trial", "age": 40}')
  await expect(verdict).toHaveText(/Does not match/)
  await condition(page, '1').getByLabel('Values').fill('trial')
  await expect(verdict).toHaveText(/Matches/)
  await aside.getByRole('button', { name: 'Count with the changes' }).click()
  await expect(aside.getByRole('region', { name: 'Stored identities' })).toContainText('0 of 32 match')
  expect((await flag(nodes[0]!.origin, key, 'banner_text')).enabled).toBe(true)
  expect((await api.send('GET', '/api/v1/projects/1/segments/?q=buyers')).results[0].rules[0].rules[0].conditions[0].value).toBe('pro,premium')
  calm(page)
})

test('search, segments of one feature, clone and delete', async ({ page }) => {
  await open(page, 'New segment')
  await page.getByRole('form', { name: 'Segment' }).getByLabel('Name').fill('only here')
  await page.getByLabel('For', { exact: true }).selectOption('Only page_size')
  await condition(page, '1').getByLabel('Property').fill('p')
  await page.keyboard.press('Enter')
  await expect(page.getByRole('heading', { level: 1, name: 'only here' })).toBeVisible()
  await page.getByRole('button', { name: 'Clone…' }).click()
  await page.getByLabel('Name of the copy').fill('only there')
  await page.getByRole('button', { name: 'Clone', exact: true }).click()
  await expect(page.getByRole('heading', { level: 1, name: 'only there' })).toBeVisible()
  await page.getByRole('link', { name: 'Segments', exact: true }).first().click()
  await page.getByRole('button', { name: 'Kind: All segments' }).click()
  await page.getByRole('menuitemradio', { name: 'Of one feature' }).click()
  await expect(page.getByRole('main').getByRole('listitem')).toHaveText([/only here\s*page_size/, /only there\s*page_size/])
  await page.getByLabel('Search segments').fill('there')
  await expect(page.getByRole('main').getByRole('listitem')).toHaveCount(1)
  await page.getByRole('link', { name: 'only there' }).click()
  await page.getByRole('button', { name: 'Delete…' }).click()
  await expect(page.getByRole('button', { name: 'Delete the segment' })).toBeDisabled()
  await page.getByLabel('Type only there to confirm').fill('only there')
  await page.getByRole('button', { name: 'Delete the segment' }).click()
  await expect(receipt(page, 'Segment only there deleted')).toContainText('Committed at index')
  await expect(page.getByRole('heading', { level: 1, name: /^Segments/ })).toBeVisible()
  expect((await api.send('GET', '/api/v1/projects/1/segments/?q=only')).results.map((s: any) => s.name)).toEqual(['only here'])
  await page.keyboard.press('Control+k')
  await page.keyboard.type('only here')
  await page.keyboard.press('Enter')
  await expect(page.getByRole('heading', { level: 1, name: 'only here' })).toBeVisible()
  calm(page)
})

for (const scheme of ['light', 'dark'] as const) {
  test(`segments: axe finds nothing, and nothing sticks out (${scheme})`, async ({ page }) => {
    await page.emulateMedia({ colorScheme: scheme, reducedMotion: 'reduce' })
    await open(page, 'everything')
    await expect(page.getByRole('complementary').getByRole('status')).toContainText('match')
    await clean(page)
    await page.getByRole('button', { name: 'Delete…' }).click()
    await clean(page)
    await page.keyboard.press('Escape')
    await page.setViewportSize({ width: 360, height: 780 })
    await fits(page)
    await clean(page)
    await page.getByRole('main').getByRole('link', { name: 'Segments' }).click()
    await expect(page.getByRole('link', { name: 'everything' })).toBeVisible()
    await fits(page)
    await clean(page)
    calm(page)
  })
}
