// The official command line (npm), as a build script would call it, with a follower.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { check, done, follower, world, unique } from '../lib/check.mjs'

const api = await follower()
const folder = mkdtempSync(join(tmpdir(), 'cli-'))

// get runs `flagsmith get` and returns the text of the file that it wrote.
async function get(args, environment = {}) {
  const output = join(folder, `${Math.random()}.json`)
  await promisify(execFile)('node', ['node_modules/flagsmith-cli/bin/run', 'get', ...args, '-a', api, '-o', output],
    { env: { ...process.env, ...environment }, timeout: 60_000 })
  return readFileSync(output, 'utf8')
}
const state = async (...args) => JSON.parse(await get(args)).flags

await check('flags of the environment', async () => {
  const flags = await state(world.clientKey)
  assert.deepEqual([flags.greeting.enabled, flags.greeting.value, flags.limit.value, flags.switch.value, flags.off.enabled],
    [true, 'hello', 42, true, false])
  assert.ok(!('secret' in flags))
})

await check('key from the environment variable, API without the final slash', async () => {
  const output = join(folder, 'variable.json')
  await promisify(execFile)('node', ['node_modules/flagsmith-cli/bin/run', 'get', '-a', api.replace(/\/$/, ''), '-o', output],
    { env: { ...process.env, FLAGSMITH_ENVIRONMENT: world.clientKey }, timeout: 60_000 })
  assert.equal(JSON.parse(readFileSync(output, 'utf8')).flags.greeting.value, 'hello')
})

await check('an identity with an override', async () => {
  assert.equal((await state(world.clientKey, '-i', 'vip-02')).personal.value, 'for vip-02')
})

await check('an identity with traits', async () => {
  const flags = await state(world.clientKey, '-i', unique('traits'), '-t', 'plan=gold', '-t', 'country=DE')
  assert.deepEqual([flags.ranked.value, flags.op_in.enabled, flags.op_in.value], ['gold', true, 'in op_in'])
})

await check('the environment document', async () => {
  const document = JSON.parse(await get([world.serverKey, '-e', 'environment']))
  assert.equal(document.api_key, world.clientKey)
  assert.equal(document.identity_overrides.length, 40)
  assert.ok(document.project.segments.some(s => s.name === 'op_equal' && s.feature_states.length > 0))
})

await check('pretty or not', async () => {
  assert.match(await get([world.clientKey, '-p']), /\n {2}"/)
})

await check('an unknown key is an error', async () => {
  await assert.rejects(get(['no-such-key']))
})

done()
