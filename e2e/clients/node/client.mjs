// The official Node client, unchanged, against one node of a cluster.
import assert from 'node:assert/strict'
import { writeFileSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Flagsmith, DefaultFlag, LocalFileHandler } from 'flagsmith-nodejs'
import { check, done, world, admin, setLive, identities, eventually, unique } from '../lib/check.mjs'

const silent = Object.assign(() => {}, { error() {}, warn() {}, info() {}, debug() {} })
const remote = (environmentKey = world.clientKey, more = {}) =>
  new Flagsmith({ environmentKey, apiUrl: world.api, retries: 0, logger: silent, ...more })
const local = (more = {}) => remote(world.serverKey, { enableLocalEvaluation: true, environmentRefreshIntervalSeconds: 60, ...more })

// shown is what a program can see of the flags, by name. No value is null in a document
// and undefined in this client's remote answers.
const shown = flags => Object.fromEntries(flags.allFlags()
  .map(f => [f.featureName, [f.enabled, f.value ?? null]]).sort(([a], [b]) => (a < b ? -1 : 1)))

const find = async identifier =>
  (await admin('GET', `environments/${world.clientKey}/identities/?q=${encodeURIComponent(`"${identifier}"`)}`)).results[0]

async function traitsOf(identifier) {
  const { id } = await find(identifier)
  const { results } = await admin('GET', `environments/${world.clientKey}/identities/${id}/traits/?page_size=100`)
  const member = { int: 'integer_value', unicode: 'string_value', bool: 'boolean_value', float: 'float_value' }
  return Object.fromEntries(results.map(t => [t.trait_key, t[member[t.value_type]]]))
}

const defaults = {
  greeting: [true, 'hello'], limit: [true, 42], switch: [true, true], layout: [true, '{"columns":[1,2],"title":"Shop"}'],
  blank: [true, ''], CamelCase: [true, 'camel'], greeting_unicode: [true, 'žluťoučký kůň ✓ 🐎'], colour: [true, 'grey'],
}
function isDefault(flags) {
  for (const [name, [enabled, value]] of Object.entries(defaults)) {
    assert.equal(flags.isFeatureEnabled(name), enabled, name)
    assert.deepEqual(flags.getFeatureValue(name), value, name)
  }
  assert.equal(flags.isFeatureEnabled('on'), true)
  assert.equal(flags.isFeatureEnabled('off'), false)
}

await check('environment flags, remote', async () => isDefault(await remote().getEnvironmentFlags()))
await check('environment flags, local', async () => isDefault(await local().getEnvironmentFlags()))

await check('a flag for servers only', async () => {
  assert.ok('secret' in shown(await remote(world.serverKey).getEnvironmentFlags()))
  assert.ok(!('secret' in shown(await remote().getEnvironmentFlags())))
  assert.ok(!('secret' in shown(await remote().getIdentityFlags(unique('client')))))
})

await check('segments, priorities, typed values', async () => {
  for (const client of [remote(), local()]) {
    const gold = await client.getIdentityFlags(unique('gold'), { plan: 'gold', age: 50 })
    assert.equal(gold.getFeatureValue('typed'), 99)
    assert.equal(gold.getFeatureValue('ranked'), 'gold')
    const free = await client.getIdentityFlags(unique('free'), { plan: 'free', age: 50 })
    assert.equal(free.getFeatureValue('typed'), false)
    assert.equal(free.getFeatureValue('ranked'), 'adults')
  }
})

await check('traits are kept with their types', async () => {
  const sent = { plan: 'gold', age: 33, score: 1.5, beta: true, digits: '007', text: 'ž ✓' }
  const first = shown(await remote().getIdentityFlags(unique('kept'), sent))
  assert.deepEqual(await traitsOf(unique('kept')), sent)
  assert.deepEqual(shown(await remote().getIdentityFlags(unique('kept'))), first)
  await remote().getIdentityFlags(unique('kept'), { plan: null, age: 34 })
  const { plan, age } = await traitsOf(unique('kept'))
  assert.deepEqual([plan, age], [undefined, 34])
})

await check('transient traits and identities', async () => {
  const flags = await remote().getIdentityFlags(unique('half'), { plan: { value: 'gold', transient: true }, country: 'DE' })
  assert.equal(flags.isFeatureEnabled('op_equal'), true)
  assert.deepEqual(await traitsOf(unique('half')), { country: 'DE' })
  assert.equal((await remote().getIdentityFlags(unique('ghost'), { plan: 'gold' }, true)).isFeatureEnabled('op_equal'), true)
  assert.equal(await find(unique('ghost')), undefined)
})

await check('identity overrides', async () => {
  for (const client of [remote(), local()]) {
    assert.equal((await client.getIdentityFlags('vip-05')).getFeatureValue('personal'), 'for vip-05')
    assert.equal((await client.getIdentityFlags('vip-08', { plan: 'gold' })).getFeatureValue('ranked'), 'personal')
    assert.equal((await client.getIdentityFlags(unique('nobody'))).isFeatureEnabled('personal'), false)
  }
})

await check('segments of an identity', async () => {
  const names = (await local().getIdentitySegments('x', { plan: 'gold', country: 'DE' })).map(s => s.name)
  for (const n of ['op_equal', 'op_in', 'op_not_set']) assert.ok(names.includes(n), `${n} in ${names}`)
  assert.ok(!names.includes('op_set'))
})

await check('local and remote agree for 2,000 identities', async () => {
  const all = identities()
  assert.equal(all.length, 2000)
  const [far, near] = [remote(world.serverKey), local()]
  for (const { identifier, traits } of all) {
    const a = shown(await far.getIdentityFlags(identifier, traits))
    const b = shown(await near.getIdentityFlags(identifier, traits))
    assert.deepEqual(b, a, `${identifier} ${JSON.stringify(traits)}`)
  }
})

await check('changes show at once and after a poll', async () => {
  const polling = local({ environmentRefreshIntervalSeconds: 0.2 })
  for (const value of [unique('one'), unique('two')]) {
    await setLive(true, value)
    assert.equal((await remote().getEnvironmentFlags()).getFeatureValue('live'), value)
    await eventually(value, async () => (await polling.getEnvironmentFlags()).getFeatureValue('live') === value)
  }
  await polling.close()
})

await check('environment document by hand', async () => {
  const client = local({ environmentRefreshIntervalSeconds: 3600 })
  await client.getEnvironmentFlags()
  await setLive(false, unique('three'))
  await client.updateEnvironment()
  const live = (await client.getEnvironmentFlags()).getFlag('live')
  assert.deepEqual([live.enabled, live.value], [false, unique('three')])
  await client.close()
})

await check('offline from a document', async () => {
  const answer = await fetch(world.api + 'environment-document/', { headers: { 'X-Environment-Key': world.serverKey } })
  const file = join(mkdtempSync(join(tmpdir(), 'flags-')), 'document.json')
  writeFileSync(file, await answer.text())
  const client = new Flagsmith({ offlineMode: true, offlineHandler: new LocalFileHandler(file), logger: silent })
  isDefault(await client.getEnvironmentFlags())
  assert.equal((await client.getIdentityFlags('x', { plan: 'gold' })).getFeatureValue('ranked'), 'gold')
})

await check('a document of several pages', async () => {
  const { api_key: key } = await admin('POST', 'environments/', { name: unique('pages'), project: world.project })
  const { key: apiKey } = await admin('POST', `environments/${key}/api-keys/`, { name: 'pages' })
  const [state] = (await admin('GET', `environments/${key}/featurestates/?feature_name=personal`)).results
  const feature = state.feature.id ?? state.feature
  const many = 100 // of 15 kB each: more than one page of 1 MB
  for (let i = 0; i < many; i++) {
    const { id } = await admin('POST', `environments/${key}/identities/`, { identifier: `heavy-${i}` })
    const value = `${i} ${'x'.repeat(15000)}`
    await admin('POST', `environments/${key}/identities/${id}/featurestates/`, { feature, enabled: true, feature_state_value: value })
  }
  const asked = []
  const watch = async (url, ...rest) => {
    const answer = await fetch(url, ...rest)
    asked.push([String(url), answer.headers.get('link')])
    return answer
  }
  const client = local({ environmentKey: apiKey, fetch: watch })
  for (let i = 0; i < many; i++) {
    const value = (await client.getIdentityFlags(`heavy-${i}`)).getFeatureValue('personal')
    assert.ok(value.startsWith(`${i} x`), `override of heavy-${i}: ${value}`)
  }
  assert.ok(asked.length > 1 && asked[0][1], `pages: ${asked.length}`)
  assert.equal(asked.at(-1)[1], null)
  await client.close()
})

await check('a wrong key', async () => {
  await assert.rejects(remote('no-such-key').getEnvironmentFlags())
  const flags = await remote('no-such-key', { defaultFlagHandler: () => new DefaultFlag('built in', false) }).getEnvironmentFlags()
  assert.equal(flags.getFeatureValue('greeting'), 'built in')
})

await check('analytics are taken', async () => {
  const client = remote(undefined, { enableAnalytics: true })
  const flags = await client.getEnvironmentFlags()
  for (let i = 0; i < 3; i++) flags.isFeatureEnabled('greeting')
  assert.deepEqual(client.analyticsProcessor.analyticsData, { greeting: 3 })
  let status
  client.analyticsProcessor.customFetch = async (...a) => { const r = await fetch(...a); status = r.status; return r }
  await client.analyticsProcessor.flush()
  assert.equal(status, 200)
  assert.deepEqual(client.analyticsProcessor.analyticsData, {})
})

done()
