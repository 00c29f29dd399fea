// The cases of the JavaScript client, for Node and for a browser: this file imports
// nothing. `given` holds createFlagsmithInstance, check, world, setLive(enabled, value) and storage
// (whether there is a localStorage).

const equal = (got, want, what = 'value') => {
  if (JSON.stringify(got) !== JSON.stringify(want)) throw new Error(`${what}: ${JSON.stringify(got)}, not ${JSON.stringify(want)}`)
}
const sleep = ms => new Promise(r => setTimeout(r, ms))
async function eventually(what, ok, ms = 15000) {
  for (const end = Date.now() + ms; Date.now() < end; await sleep(50)) if (await ok()) return
  throw new Error(`not within ${ms} ms: ${what}`)
}

export async function cases({ createFlagsmithInstance, check, world, setLive, storage }) {
  const run = `js-${Date.now().toString(36)}${Math.random().toString(36).slice(2, 8)}`
  const start = async (more = {}) => {
    const client = createFlagsmithInstance()
    await client.init({ environmentID: world.clientKey, api: world.api, ...more })
    return client
  }
  const identified = (identifier, traits, more) => start({ ...more, evaluationContext: { identity: { identifier, traits } } })

  await check('environment flags', async () => {
    const f = await start({ applicationMetadata: { name: 'shop', version: '1.2.3' } }) // sent as headers
    equal(f.hasFeature('on'), true)
    equal(f.hasFeature('off'), false)
    equal(f.getValue('greeting'), 'hello')
    equal(f.getValue('limit'), 42)
    equal(f.getValue('switch'), true)
    equal(f.getValue('blank'), '')
    equal(f.getValue('camelcase'), 'camel')
    equal(f.getValue('greeting_unicode'), 'žluťoučký kůň ✓ 🐎')
    equal(f.getValue('colour'), 'grey')
    equal(f.getValue('layout', { json: true }), { columns: [1, 2], title: 'Shop' })
    equal(f.getValue('nowhere', { fallback: 'mine' }), 'mine')
    equal('secret' in f.getAllFlags(), false, 'a flag for servers is there')
    equal(f.getAllFlags().greeting.variant, undefined)
  })

  await check('traits of the context', async () => {
    const f = await identified(`${run}-context`, { plan: 'gold', age: 33, score: 1.5, beta: true })
    equal(f.getValue('ranked'), 'gold')
    equal(f.getValue('typed'), 99)
    equal(f.hasFeature('op_equal_number'), true)
    equal(f.getAllTraits(), { plan: 'gold', age: 33, score: 1.5, beta: true })
    equal((await identified(`${run}-context`)).getValue('ranked'), 'gold', 'with the stored traits')
  })

  await check('identify, set traits, forget one, log out', async () => {
    const f = await start()
    await f.identify(`${run}-steps`, { plan: 'free', age: 50 })
    equal(f.getValue('ranked'), 'adults')
    await f.setTrait('plan', 'gold')
    equal(f.getValue('ranked'), 'gold')
    await f.setTraits({ plan: null, country: 'DE' })
    equal(f.getTrait('plan'), undefined)
    equal(f.getTrait('age'), 50)
    equal(f.hasFeature('op_in'), true)
    await f.logout()
    equal(f.getValue('ranked'), 'nobody')
    equal(f.getContext().identity, null)
  })

  await check('identifiers of any text', async () => {
    for (const name of [`${run} a+b&c=d@e`, `${run}/žofie?x#y`, `${run}%41"quoted"`]) {
      const f = await identified(name, { plan: 'gold' })
      equal(f.identity ?? f.getContext().identity.identifier, name)
      const again = await identified(name) // a GET with the name in its query
      equal(again.getContext().identity.identifier, name)
      equal(again.getTrait('plan'), 'gold')
    }
  })

  await check('transient identity', async () => {
    const context = { identity: { identifier: `${run}-ghost`, transient: true, traits: { plan: 'gold' } } }
    equal((await start({ evaluationContext: context })).getValue('ranked'), 'gold')
    equal((await identified(`${run}-ghost`)).getValue('ranked'), 'nobody', 'the ghost left a trace')
  })

  await check('transient trait', async () => {
    const f = await identified(`${run}-half`, { plan: { value: 'gold', transient: true }, country: 'FR' })
    equal(f.getValue('ranked'), 'gold')
    equal((await identified(`${run}-half`)).getAllTraits(), { country: 'FR' })
  })

  await check('anonymous identity gets one name for one set of traits', async () => {
    const names = []
    for (let i = 0; i < 2; i++) {
      const f = await start({ evaluationContext: { identity: { traits: { plan: 'gold', age: 7 } } } })
      equal(f.getValue('typed'), 99)
      names.push(f.getContext().identity.identifier)
    }
    equal(/^[0-9a-f]{64}$/.test(names[0]), true, names[0])
    equal(names[0], names[1])
  })

  await check('identity override', async () => {
    const f = await identified('vip-01')
    equal(f.hasFeature('personal'), true)
    equal(f.getValue('personal'), 'for vip-01')
  })

  await check('variants are told and stay', async () => {
    const first = (await identified(`${run}-variant`)).getAllFlags().everyone
    equal(['left', 'right'].includes(first.value), true, first.value)
    equal((await identified(`${run}-variant`)).getAllFlags().everyone, first)
  })

  await check('polling sees a change', async () => {
    const changes = []
    const f = await start({ onChange: (_, { flagsChanged }) => changes.push(...(flagsChanged ?? [])) })
    f.startListening(100)
    await setLive(true, `${run} polled`)
    await eventually('polled change', () => f.getValue('live') === `${run} polled`)
    f.stopListening()
    equal(changes.includes('live'), true, 'onChange named the flag')
  })

  await check('state for a start without requests', async () => {
    const state = (await identified(`${run}-state`, { plan: 'gold' })).getState()
    const f = createFlagsmithInstance()
    await f.init({ environmentID: world.clientKey, api: 'http://127.0.0.1:9/', preventFetch: true, state: JSON.parse(JSON.stringify(state)) })
    equal(f.getValue('ranked'), 'gold')
  })

  await check('a wrong key', async () => {
    let seen, rejected
    await createFlagsmithInstance().init({ environmentID: 'no-such-key', api: world.api, onError: e => { seen = e } }).catch(e => { rejected = e })
    equal(Boolean(seen && rejected), true, 'error reported')
    const f = createFlagsmithInstance()
    await f.init({ environmentID: 'no-such-key', api: world.api, defaultFlags: { on: { enabled: true, value: 'built in' } } }).catch(() => {})
    equal(f.getValue('on'), 'built in')
  })

  if (storage) {
    await check('cached flags in localStorage', async () => {
      await start({ cacheFlags: true })
      const f = createFlagsmithInstance()
      await f.init({ environmentID: world.clientKey, api: world.api, cacheFlags: true, cacheOptions: { skipAPI: true, ttl: 60000 } })
      equal(f.getValue('greeting'), 'hello')
      equal(f.loadingState.source, 'CACHE')
    })

    await check('another origin may read what it needs', async () => {
      const answer = await fetch(`${world.api}flags/`, { headers: { 'X-Environment-Key': world.clientKey, 'Flagsmith-Application-Name': 'shop' } })
      equal(Number(answer.headers.get('X-Flagsmith-Document-Updated-At')) > 1e9, true, 'X-Flagsmith-Document-Updated-At')
      const refused = await fetch(`${world.api}flags/`, { headers: { 'X-Environment-Key': 'nope' } })
      equal(refused.status, 403)
      equal((await refused.json()).detail, 'Invalid or missing Environment Key')
    })

    await check('analytics are posted', async () => { // kept in localStorage, sent every 10 s
      const f = await start({ enableAnalytics: true })
      for (let i = 0; i < 3; i++) f.hasFeature('greeting')
      const counts = () => f.getState().evaluationEvent?.[world.clientKey] ?? {}
      equal(counts().greeting, 3)
      await eventually('flush', () => Object.keys(counts()).length === 0, 25000)
    })
  }

  if (world.realtime) {
    await check('realtime', async () => {
      const f = await start({ realtime: true, eventSourceUrl: world.realtime })
      await sleep(500)
      for (const value of [`${run} stream 1`, `${run} stream 2`]) {
        await setLive(true, value)
        await eventually(value, () => f.getValue('live') === value)
      }
    })
  }
}
