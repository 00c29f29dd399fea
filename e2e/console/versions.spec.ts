import { expect, test } from '@playwright/test'
import { start, type Node } from './nodes'
import { API, calm, flag, receipt, signIn } from './world'

// The history of a feature in an environment that keeps versions.

test.describe.configure({ mode: 'serial' })

let nodes: Node[]
let api: API

test.beforeAll(async () => {
  nodes = await start(1, '--demo')
  api = await API.signIn(nodes[0]!.origin)
})

test.afterAll(() => Promise.all((nodes ?? []).map(n => n.kill())))

test('a new version brings back what an earlier one changed', async ({ page }) => {
  const { id, api_key: key } = (await api.environments())[0]!
  const [state, versions] = [`/api/__future__/environments/${key}/features/3/`, `/api/v1/environments/${id}/features/3/versions/`]
  const rules = [{ type: 'ALL', rules: [{ type: 'ANY', conditions: [{ operator: 'EQUAL', property: 'p', value: 'x' }] }] }]
  const segment = async (name: string): Promise<number> => (await api.send('POST', '/api/v1/projects/1/segments/', { name, project: 1, rules })).id
  const [kept, third] = [await segment('kept'), await segment('third')]
  await api.send('PATCH', state, { segment_overrides: [{ segment: { id: kept }, enabled: true, value: { type: 'integer', value: '9' } }] })
  await api.send('POST', `/api/v1/environments/${key}/enable-v2-versioning/`)

  const override = (value: string) => api.send('PATCH', state, { segment_overrides: [{ segment: { id: third }, enabled: true, value: { type: 'integer', value } }] })
  await api.send('PATCH', state, { environment_default: { value: { type: 'integer', value: '77' } } })
  for (const value of ['31', '32']) await override(value)
  // One version that changes two things and takes a third away, as Flagsmith's own front end makes it.
  const value = (feature_state_value: object) => ({ feature_state_value, enabled: false })
  await api.send('POST', versions, {
    publish_immediately: true,
    feature_states_to_create: [],
    feature_states_to_update: [
      value({ type: 'int', integer_value: 78 }),
      { ...value({ type: 'int', integer_value: 10 }), feature_segment: { segment: kept } },
    ],
    segment_ids_to_delete_overrides: [third],
  })
  const now = async () => {
    const { environment_default: d, segment_overrides: o } = await api.send('GET', state)
    const of = (segment: number) => o.filter((o: any) => o.segment.id === segment).map((o: any) => `${o.enabled} ${o.value.value}`)[0]
    return [`${d.enabled} ${d.value.value}`, of(kept), of(third)]
  }
  expect(await now()).toEqual(['false 78', 'false 10', undefined])

  await signIn(page, nodes[0]!.origin)
  await page.getByRole('link', { name: 'page_size' }).click()
  const panel = page.getByRole('complementary', { name: 'page_size' })
  await panel.getByRole('tab', { name: 'History' }).click()
  const events = panel.locator('.history-event')
  await expect(events.first().locator('.history-line')).toHaveText(['Override for third removed', 'Switched off', 'Value7778', 'Switched off for kept', 'Value for kept910'])

  const live = async () => (await api.send('GET', `${versions}?is_live=true`)).results as { uuid: string; published_by: number | null }[]
  const undo = async (...texts: string[]) => {
    const before = await live()
    let event = events
    for (const hasText of texts) event = event.filter({ hasText })
    await event.first().getByRole('button').click()
    await expect(receipt(page, 'as before')).toContainText('live on 1 of 1')
    await receipt(page, 'as before').getByRole('button', { name: 'Dismiss' }).click()
    await expect(receipt(page, 'as before')).toHaveCount(0)
    const after = await live()
    expect(after).toHaveLength(before.length + 1) // one version more, and those before are as they were
    expect(after.slice(1)).toEqual(before)
    expect(after[0]!.published_by).not.toBeNull()
  }
  await undo('Override for third removed', 'Value for kept')
  expect(await now()).toEqual(['true 77', 'true 9', 'true 32'])
  expect((await flag(nodes[0]!.origin, key, 'page_size')).feature_state_value).toBe(77)
  await expect(events.first()).toContainText('Override for third made')
  await undo('Value for third', '31')
  expect(await now()).toEqual(['true 77', 'true 9', 'true 31'])
  await undo('Override for third made', '31')
  expect(await now()).toEqual(['true 77', 'true 9', undefined])
  await undo('Value', '25')
  expect(await now()).toEqual(['true 25', 'true 9', undefined])
  await expect(events.filter({ hasText: 'State removed' })).toHaveCount(0)
  calm(page)
})
