import { test } from '@playwright/test'
import { start, type Node } from './nodes'
import { API } from './world'

// Three nodes with the demo project, or one, for the tests of one file.

export let nodes: Node[]

/** The demo's administrator, at the first node. */
export let api: API

/** The key of the environment Development, which the console shows first. */
export let key: string

/** startDemo starts three nodes before the tests of this file, which go on from one another's state, and ends them afterwards; extra are further flags. */
export const startDemo = (...extra: string[]) => startDemoOf(3, ...extra)

/** startDemoOf is startDemo with so many nodes. */
export function startDemoOf(size: number, ...extra: string[]) {
  test.describe.configure({ mode: 'serial' })
  test.beforeAll(async () => {
    nodes = await start(size, '--demo', ...extra)
    api = await API.signIn(nodes[0]!.origin)
    key = (await api.environments()).find(e => e.name === 'Development')!.api_key
  })
  test.afterAll(async () => {
    await Promise.all((nodes ?? []).map(n => n.kill()))
    nodes = []
  })
}

export type Flag = { feature: { name: string }; enabled: boolean; feature_state_value: unknown }

/** identify is what an SDK does at the second of three nodes: it names somebody in Development with traits, and gets the flags. */
export async function identify(identifier: string, traits: Record<string, unknown> = {}): Promise<Record<string, Flag>> {
  const body = JSON.stringify({ identifier, traits: Object.entries(traits).map(([trait_key, trait_value]) => ({ trait_key, trait_value })) })
  const answer = await fetch(`${nodes[1]!.origin}/api/v1/identities/`, { method: 'POST', headers: { 'X-Environment-Key': key, 'Content-Type': 'application/json' }, body })
  const { flags } = (await answer.json()) as { flags: Flag[] }
  return Object.fromEntries(flags.map(f => [f.feature.name, f]))
}
