// The official OFREP providers for servers and for browsers, unchanged, against one node of a cluster.
import assert from 'node:assert/strict'
import { OpenFeature as Server } from '@openfeature/server-sdk'
import { OFREPProvider } from '@openfeature/ofrep-provider'
import { OpenFeature as Web, ProviderEvents } from '@openfeature/web-sdk'
import { OFREPWebProvider } from '@openfeature/ofrep-web-provider'
import { check, done, world, setLive, identities, eventually, unique } from '../lib/check.mjs'

const silent = { error() {}, warn() {}, info() {}, debug() {} }
Server.setLogger(silent)
Web.setLogger(silent)
const byKey = key => ({ headers: [['X-Environment-Key', key]] })
const byToken = key => ({ headers: [['Authorization', `Bearer ${key}`]] })

let domains = 0
async function server(options = byKey(world.clientKey)) {
  const domain = `server-${++domains}`
  await Server.setProviderAndWait(domain, new OFREPProvider({ baseUrl: world.origin, ...options }))
  return Server.getClient(domain)
}

// web makes a client of the browser's provider; calls lists the statuses of what it asked.
async function web(context, options = byToken(world.clientKey)) {
  const domain = `web-${++domains}`
  const calls = []
  const fetchImplementation = async (...request) => {
    const answer = await fetch(...request)
    calls.push(answer.status)
    return answer
  }
  await Web.setContext(domain, context)
  const provider = new OFREPWebProvider({ baseUrl: world.origin, cacheMode: 'disabled', changeDetection: 'none', fetchImplementation, ...options })
  await Web.setProviderAndWait(domain, provider)
  return { domain, provider, calls, client: Web.getClient(domain) }
}

// remote is what POST /identities/ answers, without storing anything.
async function remote(identifier, traits) {
  const answer = await fetch(world.api + 'identities/', {
    method: 'POST', headers: { 'X-Environment-Key': world.clientKey, 'Content-Type': 'application/json' },
    body: JSON.stringify({
      identifier, transient: true,
      traits: Object.entries(traits).map(([trait_key, trait_value]) => ({ trait_key, trait_value, transient: true })),
    }),
  })
  assert.equal(answer.status, 200)
  return (await answer.json()).flags
}

// wanted is the value of a flag as OFREP serves it; undefined: none, the default counts.
function wanted(flag) {
  const value = flag.feature_state_value
  if (value === null || value === '') return flag.enabled
  if (!flag.enabled) return undefined
  return typeof value === 'string' && /^\s*[{[]/.test(value) ? JSON.parse(value) : value
}

// ask calls the getter of the value's type.
const ask = (client, name, value, ...context) => ({
  boolean: () => client.getBooleanDetails(name, !value, ...context),
  number: () => client.getNumberDetails(name, -1, ...context),
  string: () => client.getStringDetails(name, 'code default', ...context),
  object: () => client.getObjectDetails(name, { code: 'default' }, ...context),
  undefined: () => client.getStringDetails(name, 'code default', ...context),
})[typeof value]()

async function agrees(flags, details) {
  for (const flag of flags) {
    const value = wanted(flag)
    const got = await details(flag.feature.name, value)
    assert.deepEqual(got.value, value === undefined ? 'code default' : value, flag.feature.name)
    if (value !== undefined) {
      assert.equal(got.errorCode, undefined, flag.feature.name)
      assert.equal(got.reason === 'DISABLED', !flag.enabled, flag.feature.name)
      if (flag.enabled && flag.variant !== null) assert.equal(got.variant, flag.variant, flag.feature.name)
    }
  }
}

const typed = [['on', true], ['off', false], ['greeting', 'hello'], ['limit', 42], ['switch', true], ['blank', true],
  ['layout', { columns: [1, 2], title: 'Shop' }], ['greeting_unicode', 'žluťoučký kůň ✓ 🐎']]

await check('server: flags of every type', async () => {
  for (const options of [byKey(world.clientKey), byToken(world.clientKey), byKey(world.serverKey), byToken(world.serverKey)]) {
    const client = await server(options)
    for (const [name, value] of typed) {
      const got = await ask(client, name, value)
      assert.deepEqual([got.value, got.errorCode], [value, undefined], name)
    }
    assert.equal((await client.getBooleanDetails('on', false)).reason, 'STATIC')
    assert.equal((await client.getBooleanDetails('off', true)).reason, 'DISABLED')
  }
})

await check('server: faults give the default', async () => {
  const client = await server()
  const missing = await client.getStringDetails('no-such-flag', 'd')
  assert.deepEqual([missing.value, missing.errorCode], ['d', 'FLAG_NOT_FOUND'])
  const mismatch = await client.getStringDetails('limit', 'd')
  assert.deepEqual([mismatch.value, mismatch.errorCode], ['d', 'TYPE_MISMATCH'])
  const hidden = await client.getStringDetails('secret', 'd')
  assert.deepEqual([hidden.value, hidden.errorCode], ['d', 'FLAG_NOT_FOUND'])
  assert.equal(await (await server(byKey(world.serverKey))).getStringValue('secret', 'd'), 'for servers only')
  for (const options of [{}, byKey('no-such-key'), byToken('no-such-key')]) {
    const refused = await (await server(options)).getStringDetails('greeting', 'd')
    assert.deepEqual([refused.value, refused.errorCode], ['d', 'GENERAL'])
  }
})

await check('server: identities agree with the Flagsmith API', async () => {
  const client = await server()
  const all = identities()
  for (const { identifier, traits } of [...all.slice(0, 8), ...all.filter(i => !i.overridden).slice(0, 12)]) {
    const context = { targetingKey: identifier, ...traits }
    await agrees(await remote(identifier, traits), (name, value) => ask(client, name, value, context))
  }
})

await check('server: reasons', async () => {
  const client = await server()
  const reason = async (name, context) => (await client.getStringDetails(name, '', context)).reason
  assert.equal(await reason('ranked', { targetingKey: unique('gold'), plan: 'gold', age: 50 }), 'TARGETING_MATCH')
  assert.equal(await reason('personal', { targetingKey: 'vip-01' }), 'TARGETING_MATCH')
  assert.equal(await reason('colour', { targetingKey: unique('split') }), 'SPLIT')
})

await check('server: nobody is created', async () => {
  const identifier = unique('ofrep')
  const client = await server()
  await client.getStringValue('ranked', '', { targetingKey: identifier, plan: 'gold' })
  const answer = await fetch(`${world.api}environments/${world.clientKey}/identities/?q=${encodeURIComponent(`"${identifier}"`)}`,
    { headers: { Authorization: `Token ${world.token}` } })
  assert.equal((await answer.json()).count, 0)
})

await check('web: flags of every type', async () => {
  for (const options of [byKey(world.clientKey), byToken(world.clientKey)]) {
    const { client } = await web({}, options)
    for (const [name, value] of typed) assert.deepEqual((await ask(client, name, value)).value, value, name)
  }
})

await check('web: faults give the default', async () => {
  const { client } = await web({ targetingKey: unique('web') })
  const missing = client.getStringDetails('no-such-flag', 'd')
  assert.deepEqual([missing.value, missing.errorCode], ['d', 'FLAG_NOT_FOUND'])
  assert.equal(client.getStringDetails('secret', 'd').errorCode, 'FLAG_NOT_FOUND')
  const mismatch = client.getStringDetails('limit', 'd')
  assert.deepEqual([mismatch.value, mismatch.errorCode], ['d', 'TYPE_MISMATCH'])
  const disabled = client.getStringDetails('personal', 'd')
  assert.deepEqual([disabled.value, disabled.reason, disabled.errorCode], ['d', 'DISABLED', undefined])
  await assert.rejects(web({}, byToken('no-such-key')))
})

await check('web: identities agree with the Flagsmith API', async () => {
  const { domain, client } = await web({})
  const all = identities()
  for (const { identifier, traits } of [...all.slice(0, 15), ...all.filter(i => !i.overridden).slice(0, 35)]) {
    await Web.setContext(domain, { targetingKey: identifier, ...traits })
    await agrees(await remote(identifier, traits), (name, value) => ask(client, name, value))
  }
})

await check('web: polling gets 304 until something changes', async () => {
  await setLive(true, 'before')
  const { client, calls } = await web({ targetingKey: unique('poll') }, { ...byToken(world.clientKey), changeDetection: 'polling', pollInterval: 100 })
  assert.equal(client.getStringValue('live', 'd'), 'before')
  await eventually('three answers 304', () => calls.filter(s => s === 304).length >= 3)
  assert.equal(calls.filter(s => s === 200).length, 1)
  const changed = new Promise(resolve => client.addHandler(ProviderEvents.ConfigurationChanged, resolve))
  await setLive(true, 'after')
  assert.deepEqual((await changed).flagsChanged, ['live'])
  assert.equal(client.getStringValue('live', 'd'), 'after')
})

await check('web: a changed context is evaluated anew', async () => {
  const { domain, client, calls } = await web({ targetingKey: 'vip-01' })
  assert.equal(client.getStringValue('personal', 'd'), 'for vip-01')
  await Web.setContext(domain, { targetingKey: 'vip-02' })
  assert.equal(client.getStringValue('personal', 'd'), 'for vip-02')
  await Web.setContext(domain, { targetingKey: 'vip-02', plan: 'gold' }) // with the tag of the context before
  assert.deepEqual(calls, [200, 200, 200])
})

const bulk = await fetch(world.origin + '/ofrep/v1/evaluate/flags', {
  method: 'POST', headers: { 'X-Environment-Key': world.clientKey, 'Content-Type': 'application/json' }, body: '{}',
})
if ((await bulk.json()).eventStreams && typeof EventSource !== 'undefined') {
  await check('web: the event stream announces changes', async () => {
    await setLive(true, 'quiet')
    const { client, provider } = await web({ targetingKey: unique('stream') }, { ...byToken(world.clientKey), changeDetection: 'sse' })
    assert.equal(client.getStringValue('live', 'd'), 'quiet')
    for (const value of ['first', 'second']) {
      await setLive(true, value)
      await eventually(`the value ${value}`, () => client.getStringValue('live', 'd') === value)
    }
    await provider.onClose()
  })
}

done()
