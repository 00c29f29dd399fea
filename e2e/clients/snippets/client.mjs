// The examples of docs/clients.md, word for word but for the key, the address and the feature: each runs as a program of its own, which then says
// what it has in "on" and "value".
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { transformSync } from 'esbuild'
import { check, done, world } from '../lib/check.mjs'

const text = readFileSync(`${process.env.FLAGRAFT_DOCS}/clients.md`, 'utf8')

// example is the block of a language in the section with a title.
function example(title, language) {
  const section = text.split(/^## /m).find(s => s.startsWith(title + '\n'))
  const block = section?.match(new RegExp('```' + language + '\n(.*?)```', 's'))?.[1]
  assert.ok(block, `there is no ${language} below ${title}`)
  const filled = block.replaceAll('ENVIRONMENT_KEY', world.clientKey).replaceAll('http://node-a:8000', world.origin).replaceAll('my_feature', 'switch')
  assert.notEqual(filled, block)
  return filled
}

const javascript = code => `${code}
console.log('GOT ' + JSON.stringify({ on, value: typeof value === 'undefined' ? null : value }))
process.exit()
`
const python = code => `${code}
import json, os
print("GOT " + json.dumps({"on": on, "value": globals().get("value")}), flush=True)
os._exit(0)
`
// page gives a program what browsers have, before it imports anything.
const page = `import { JSDOM } from 'jsdom'
const { window } = new JSDOM('<!doctype html><div id="app"></div>', { url: 'http://localhost/' })
globalThis.window = window
for (const name of ['document', 'navigator', 'localStorage', 'XMLHttpRequest']) Object.defineProperty(globalThis, name, { value: window[name], configurable: true })
`
// react shows the example's page in a document, until it says what it says when the flags have come.
const react = code => `import { createElement } from 'react'
import { createRoot } from 'react-dom/client'
${transformSync(code, { loader: 'jsx', jsx: 'automatic' }).code}
createRoot(document.getElementById('app')).render(createElement(App))
let shown = ''
for (let i = 0; i < 400 && !shown.startsWith('on'); i++) {
  await new Promise(done => setTimeout(done, 50))
  shown = document.body.textContent
}
console.log('GOT ' + JSON.stringify({ on: shown.startsWith('on: '), value: shown.endsWith(': ') ? null : shown.slice(shown.indexOf(': ') + 2) }))
process.exit()
`

async function got(name, program, command, ...before) {
  mkdirSync('programs', { recursive: true })
  writeFileSync('programs/page.mjs', page)
  writeFileSync(`programs/${name}`, program)
  const { stdout } = await promisify(execFile)(command, [...before, `programs/${name}`], { timeout: 60_000 })
  const line = stdout.split('\n').find(l => l.startsWith('GOT '))
  assert.ok(line, stdout.slice(-300))
  return JSON.parse(line.slice(4))
}

// The feature is on and its value is the boolean true; OpenFeature's examples ask for that alone, and React shows no booleans.
const inPage = [process.execPath, '--import', './programs/page.mjs']
for (const [title, language, wrap, value, ...command] of [
  ['JavaScript', 'js', javascript, true, ...inPage],
  ['React', 'jsx', react, null, ...inPage],
  ['Node', 'js', javascript, true, process.execPath],
  ['Python', 'python', python, true, 'venv/bin/python'],
  ['OpenFeature', 'js', javascript, null, process.execPath],
  ['OpenFeature', 'python', python, null, 'venv/bin/python'],
]) {
  await check(`${title} in ${language}`, async () => {
    const name = `${title}.${language === 'python' ? 'py' : 'mjs'}`
    assert.deepEqual(await got(name, wrap(example(title, language)), ...command), { on: true, value })
  })
}

done()
