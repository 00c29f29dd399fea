import { AxeBuilder } from '@axe-core/playwright'
import { expect, type Page } from '@playwright/test'

/** receipt is what the page says became of a change. */
export const receipt = (page: Page, label: string) => page.getByRole('region', { name: 'What became of changes' }).locator('.receipt', { hasText: label })

/** clean demands that axe finds nothing. */
export async function clean(page: Page) {
  const { violations } = await new AxeBuilder({ page }).analyze()
  expect(violations.map(v => `${v.id}: ${v.nodes.map(n => `${n.target.join(' ')} ${n.failureSummary}`).slice(0, 3).join(' | ')}`)).toEqual([])
}

/** fits demands that nothing sticks out at the side. */
export const fits = async (page: Page) =>
  expect(await page.locator('#main').evaluate(main => [document.documentElement.scrollWidth - innerWidth, main.scrollWidth - main.clientWidth])).toEqual([0, 0])
