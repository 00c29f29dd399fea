// The Flagsmith providers of OpenFeature for JavaScript: the one for servers (remote
// and local evaluation) and the one for the web.
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { OpenFeature as Server } from '@openfeature/server-sdk'
import { OpenFeature as Web } from '@openfeature/web-sdk'
import { FlagsmithOpenFeatureProvider } from '@openfeature/flagsmith-provider'
import { FlagsmithClientProvider } from '@openfeature/flagsmith-client-provider'
import { check, done, world, setLive, eventually, unique, identities } from '../lib/check.mjs'

const { Flagsmith } = createRequire(import.meta.url)('flagsmith-nodejs')
const flagsmith = createRequire(import.meta.url)('flagsmith/isomorphic')

async function serverClient(domain, options, config) {
  const client = new Flagsmith({ apiUrl: world.api, logger: { error() {}, warn() {}, info() {}, debug() {} }, ...options })
  await Server.setProviderAndWait(domain, new FlagsmithOpenFeatureProvider(client, config))
  return Server.getClient(domain)
}
const remote = await serverClient('remote', { environmentKey: world.clientKey })
const local = await serverClient('local', { environmentKey: world.serverKey, enableLocalEvaluation: true, environmentRefreshIntervalSeconds: 0.2 })

for (const [name, client] of Object.entries({ remote, local })) {
  await check(`server, ${name}: every type`, async () => {
    assert.equal(await client.getBooleanValue('on', false), true)
    assert.equal(await client.getBooleanValue('off', true), false)
    assert.equal(await client.getStringValue('greeting', ''), 'hello')
    assert.equal(await client.getNumberValue('limit', 0), 42)
    assert.deepEqual(await client.getObjectValue('layout', {}), { columns: [1, 2], title: 'Shop' })
  })

  await check(`server, ${name}: context`, async () => {
    const gold = { targetingKey: unique(`of-${name}`), traits: { plan: 'gold', age: 33 } }
    assert.equal(await client.getStringValue('ranked', '', gold), 'gold')
    assert.equal(await client.getNumberValue('typed', 0, gold), 99)
    assert.equal(await client.getStringValue('personal', '', { targetingKey: 'vip-06' }), 'for vip-06')
  })

  await check(`server, ${name}: errors`, async () => {
    const unknown = await client.getStringDetails('nowhere', 'mine')
    assert.deepEqual([unknown.value, unknown.errorCode], ['mine', 'FLAG_NOT_FOUND'])
    const wrong = await client.getNumberDetails('greeting', 7)
    assert.deepEqual([wrong.value, wrong.errorCode], [7, 'TYPE_MISMATCH'])
    assert.equal((await client.getStringDetails('personal', 'mine')).value, 'mine', 'a disabled flag has no value')
  })
}

// The provider brings an older Node client, whose engine hashes identities with overrides by
// their number in the document: those differ from the server's answers by design.
await check('server: local and remote agree', async () => {
  for (const { identifier, traits } of identities().filter(i => !i.overridden).slice(0, 200)) {
    const context = { targetingKey: identifier, traits }
    for (const flag of ['op_split', 'op_regex', 'op_semver', 'ranked', 'colour', 'everyone']) {
      const [a, b] = await Promise.all([remote, local].map(c => c.getStringDetails(flag, 'fallback', context)))
      assert.equal(b.value, a.value, `${flag} of ${identifier} ${JSON.stringify(traits)}`)
    }
  }
})

await check('server: a change arrives', async () => {
  await setLive(true, unique('of'))
  assert.equal(await remote.getStringValue('live', ''), unique('of'))
  await eventually('polled change', async () => (await local.getStringValue('live', '')) === unique('of'))
})

await check('web: every type', async () => {
  await Web.setProviderAndWait(new FlagsmithClientProvider({
    environmentID: world.clientKey, api: world.api, flagsmithInstance: flagsmith.createFlagsmithInstance(), fetch,
  }))
  const client = Web.getClient()
  assert.equal(client.getBooleanValue('on', false), true)
  assert.equal(client.getStringValue('greeting', ''), 'hello')
  assert.equal(client.getNumberValue('limit', 0), 42)
  assert.deepEqual(client.getObjectValue('layout', {}), { columns: [1, 2], title: 'Shop' })
})

await check('web: context', async () => {
  const client = Web.getClient()
  await Web.setContext({ targetingKey: 'vip-07' })
  assert.equal(client.getStringValue('personal', ''), 'for vip-07')
  await Web.setContext({ targetingKey: unique('web'), traits: { plan: 'gold', age: 33 } })
  assert.equal(client.getBooleanValue('op_not_set', false), true)
  assert.equal(client.getBooleanValue('personal', true), false)
  await Web.setContext({})
  assert.equal(client.getStringValue('ranked', ''), 'nobody')
})

done()
