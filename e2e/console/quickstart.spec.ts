import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, type Page } from '@playwright/test'
import { start, type Node } from './nodes'
import { API, calm, flag, receipt, watch } from './world'

// What docs/quickstart.md tells its reader to click is done here word by word: each phrase of it is a step below, and words that are no step fail.

const page = readFileSync(join(process.env.FLAGRAFT_DOCS ?? '../../docs', 'quickstart.md'), 'utf8')

let nodes: Node[]

test.beforeAll(async () => {
  nodes = await start(1, '--demo') // as make run does
})

test.afterAll(() => Promise.all((nodes ?? []).map(n => n.kill())))

interface Reader {
  page: Page
  /** What was last given as a value, and to which feature. */
  feature: string
  value: string
}

type Step = [phrase: RegExp, does: (reader: Reader, ...words: string[]) => Promise<unknown>]

const steps: Step[] = [
  [/Open <http:\/\/127\.0\.0\.1:8000(\/[^>]*)>/, ({ page }, path) => page.goto(nodes[0]!.origin + path)],
  [/sign in/, async ({ page }) => {
    const [, email, password] = shown(/sign in with +(\S+) \/ (\S+)/)
    await page.getByLabel('E-mail address').fill(email!)
    await page.getByLabel('Password').fill(password!)
    await page.getByRole('button', { name: 'Sign in' }).click()
  }],
  [/click the project \*(.+?)\*/, ({ page }, name) => page.getByRole('main').getByRole('link', { name, exact: true }).click()],
  [/choose \*(.+?)\* at the top/, async ({ page }, name) => {
    await page.getByRole('banner').getByRole('button', { name: /^Environment:/ }).click()
    await page.getByRole('menuitemradio', { name, exact: true }).click()
    await expect(page.getByRole('banner').getByRole('button', { name: `Environment: ${name}` })).toBeVisible()
  }],
  [/[Cc]lick `(.+?)`/, async (reader, name) => {
    reader.feature = name!
    await reader.page.getByRole('main').getByRole('link', { name, exact: true }).click()
  }],
  [/give it another value/, async reader => {
    const field = reader.page.getByRole('textbox', { name: `Value of ${reader.feature}` })
    reader.value = `${await field.inputValue()}, again`
    await field.fill(reader.value)
  }],
  [/save/, ({ page }) => page.getByRole('button', { name: 'Save', exact: true }).click()],
  [/The receipt tells which nodes show it/, ({ page, feature }) => expect(receipt(page, feature)).toContainText(/live on 1 of 1 node /)],
]

/** shown is what the page says the reader sees. */
function shown(pattern: RegExp): RegExpMatchArray {
  const found = page.match(pattern)
  expect(found, `the page does not say ${pattern}`).not.toBeNull()
  return found!
}

/** follow does what a text says. */
async function follow(text: string, reader: Reader) {
  let rest = text.replace(/\s+/g, ' ')
  for (;;) {
    rest = rest.replace(/^(, and |, | and |\. | )/, '')
    if (rest === '' || rest === '.') return
    const found = steps.map(([phrase, does]) => ({ does, words: rest.match(new RegExp(`^(?:${phrase.source})`)) })).find(s => s.words)
    expect(found, `no step does this: ${rest}`).toBeDefined()
    await test.step(found!.words![0], () => found!.does(reader, ...found!.words!.slice(1)) as Promise<void>)
    rest = rest.slice(found!.words![0].length)
  }
}

test('the quick start in the console, as it is written', async ({ page: browser }) => {
  const reader: Reader = { page: browser, feature: '', value: '' }
  watch(browser)
  await follow(shown(/## 3\. Change it\n\n(.*?)\n\n/s)[1]!, reader)
  const production = (await (await API.signIn(nodes[0]!.origin)).environments()).find(e => e.name === shown(/The key is that of (\w+)\./)[1])!
  expect((await flag(nodes[0]!.origin, production.api_key, reader.feature)).feature_state_value, 'what section 4 asks for').toBe(reader.value)

  const [, keys] = shown(/the console's page \*(.+?)\* has the same with your key filled in/)
  await browser.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: keys, exact: true }).click()
  await expect(browser.getByRole('heading', { name: keys, level: 1 })).toBeVisible()
  await expect(browser.locator('pre', { hasText: production.api_key }).first()).toContainText(`${nodes[0]!.origin}/api/v1/`)
  calm(browser)
})
