import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

// licences writes licenses.txt: the licence of every package whose code is in the build.
export function licences() {
  const packages = new Map()
  return {
    name: 'licences',
    apply: 'build',
    generateBundle(_, bundle) {
      for (const chunk of Object.values(bundle)) {
        for (const id of Object.keys(chunk.modules ?? {})) note(packages, id)
      }
      this.emitFile({ type: 'asset', fileName: 'licenses.txt', source: render(packages) })
    },
  }
}

function note(packages, id) {
  const at = id.match(/^\0?(.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//)
  if (!at) return
  const { name, version, license } = JSON.parse(readFileSync(join(at[1], 'package.json'), 'utf8'))
  packages.set(name, { name, version, license, folder: at[1] })
}

function render(packages) {
  const all = [...packages.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
  const parts = all.map(p => `${p.name} ${p.version} (${p.license})\n\n${text(p.folder)}`)
  return `The console of flagraft (Apache-2.0) contains these packages.\n\n${parts.join('\n' + '-'.repeat(80) + '\n\n')}`
}

function text(folder) {
  const file = readdirSync(folder).find(f => /^licen[cs]e/i.test(f))
  if (!file) throw new Error(`${dirname(folder)}: no licence file in ${folder}`)
  return readFileSync(join(folder, file), 'utf8').trim() + '\n'
}
