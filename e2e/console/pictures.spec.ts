import { expect, test, type Page } from '@playwright/test'
import { start, type Node } from './nodes'
import { API, calm, email, logIn, password, watch } from './world'

// The pictures of docs/images: a shop that somebody could have, on three nodes. They are made on demand (make pictures); every other job looks
// at the same pages without keeping them.

const folder = process.env.PICTURES

test.describe.configure({ mode: 'serial' })
test.skip(!folder, 'PICTURES names no directory')

let nodes: Node[]
let project: string
let environment: string
let search: number
let segments: number[]

const flags: [name: string, description: string, enabled: boolean, value?: string | number][] = [
  ['checkout_redesign', 'The checkout on one page', true],
  ['express_shipping', 'Offer delivery on the next day', true],
  ['search_ranking', 'Which model sorts what a search finds', true, 'classic'],
  ['recommendations', 'What other customers bought', true, '{"rows": 2, "source": "orders"}'],
  ['dark_mode', 'The dark theme in the apps', false],
  ['gift_cards', 'Sell gift cards and take them', false],
  ['holiday_banner', 'What the banner of the start page says', true, 'Free returns until January 31'],
  ['max_cart_items', 'How many items a cart may hold', true, 80],
  ['payment_provider', 'Who takes the money', true, 'stripe'],
  ['product_videos', 'Videos on the pages of products', false],
  ['review_translations', 'Translate what customers write', false],
  ['stock_warning', 'Tell when there are only a few left', true, 5],
]

test.beforeAll(async () => {
  nodes = await start(3, '--admin-email', email, '--admin-password', password, '--organisation-name', 'Example shop')
  const api = await API.signIn(nodes[0]!.origin)
  const organisation = (await api.send('GET', '/api/v1/organisations/')).results[0].id
  const { id } = await api.send('POST', '/api/v1/projects/', { name: 'Web shop', organisation })
  project = id
  for (const name of ['Development', 'Staging', 'Production']) environment = (await api.send('POST', '/api/v1/environments/', { name, project })).api_key
  const tag = await api.send('POST', `/api/v1/projects/${project}/tags/`, { label: 'experiment', color: '#12724a', project })
  for (const [name, description, enabled, value] of flags) {
    const split = name === 'search_ranking'
    const { id } = await api.send('POST', `/api/v1/projects/${project}/features/`, {
      name, description, default_enabled: enabled, initial_value: value, ...(split ? { type: 'MULTIVARIATE', tags: [tag.id] } : {}),
      multivariate_options: split ? [30, 20].map((share, i) => ({ type: 'unicode', string_value: `model-${i + 1}`, default_percentage_allocation: share })) : [],
    })
    if (split) search = id
  }
  const rules = (...conditions: object[]) => [{ type: 'ALL', rules: conditions.map(c => ({ type: 'ANY', conditions: [c] })) }]
  const of = async (name: string, description: string, ...conditions: object[]) =>
    (await api.send('POST', `/api/v1/projects/${project}/segments/`, { name, description, project, rules: rules(...conditions) })).id
  segments = [
    await of('Premium in Europe', 'Who pays, and where we ship from', { operator: 'EQUAL', property: 'plan', value: 'premium' }, { operator: 'IN', property: 'country', value: 'DE,FR,IT,NL' }),
    await of('New app', 'Phones with the app of this year', { operator: 'GREATER_THAN_INCLUSIVE', property: 'app_version', value: '7.0.0:semver' }),
    await of('Early tenth', 'A tenth of everybody', { operator: 'PERCENTAGE_SPLIT', property: null, value: '10' }),
  ]
  const path = `/api/__future__/environments/${environment}/features/${search}/`
  await api.send('PATCH', path, { segment_overrides: [{ segment: { id: segments[0] }, enabled: true, value: { type: 'string', value: 'model-2' } }] })
  const people = ['ada', 'alan', 'barbara', 'claude', 'edsger', 'frances', 'grace', 'hedy', 'john', 'katherine', 'linus', 'margaret', 'niklaus', 'radia', 'tony']
  for (const [i, name] of people.entries()) {
    const traits = Object.entries({ plan: i % 3 ? 'free' : 'premium', country: ['DE', 'US', 'FR', 'JP'][i % 4], app_version: `${6 + (i % 3)}.${i}.0`, orders: i * 3 })
    await fetch(`${nodes[0]!.origin}/api/v1/identities/`, {
      method: 'POST', headers: { 'X-Environment-Key': environment, 'Content-Type': 'application/json' },
      body: JSON.stringify({ identifier: `${name}@example.com`, traits: traits.map(([trait_key, trait_value]) => ({ trait_key, trait_value })) }),
    })
  }
})

test.afterAll(() => Promise.all((nodes ?? []).map(n => n.kill())))

const looks = {
  light: { colorScheme: 'light', width: 1280, height: 800 },
  dark: { colorScheme: 'dark', width: 1280, height: 800 },
  phone: { colorScheme: 'light', width: 390, height: 844 },
} as const

async function signIn(page: Page) {
  watch(page)
  await page.goto(nodes[0]!.origin)
  await logIn(page)
  await expect(page.getByRole('link', { name: 'Web shop', exact: true })).toBeVisible()
}

const places: [name: string, path: () => string, seen: (page: Page) => Promise<void>][] = [
  ['features', () => `/projects/${project}/environments/${environment}/features`, page => expect(page.getByRole('switch', { name: 'stock_warning' })).toBeVisible()],
  ['feature', () => `/projects/${project}/environments/${environment}/features/${search}`, page => expect(page.getByText('model-2').first()).toBeVisible()],
  ['segment', () => `/projects/${project}/segments/${segments[0]}`, page => expect(page.getByText('Premium in Europe').first()).toBeVisible()],
  ['identities', () => `/projects/${project}/environments/${environment}/identities`, page => expect(page.getByText('tony@example.com')).toBeVisible()],
  ['audit', () => `/projects/${project}/audit`, page => expect(page.getByText('Premium in Europe').first()).toBeVisible()],
  ['cluster', () => '/cluster', page => expect(page.getByText('leader').first()).toBeVisible()],
]

for (const [look, { colorScheme, width, height }] of Object.entries(looks)) {
  test(`pictures, ${look}`, async ({ page }) => {
    await page.setViewportSize({ width, height })
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    await signIn(page)
    for (const [name, path, seen] of places) {
      await page.goto(nodes[0]!.origin + path())
      await seen(page)
      await page.waitForTimeout(name === 'cluster' ? 15_000 : 500) // charts need a few readings
      await page.screenshot({ path: `${folder}/${name}-${look}.png` })
    }
    await calm(page)
  })
}
