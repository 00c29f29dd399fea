import { defineConfig } from '@playwright/test'

// Files run beside each other, each on nodes of its own: the tests of a file share them and go on from one another's state.
// The limits are for what hangs; two browsers and six nodes share two cores.
export default defineConfig({
  testDir: '.',
  workers: 2,
  timeout: 240_000,
  expect: { timeout: 30_000 },
  reporter: [['list']],
  use: {
    browserName: 'chromium',
    viewport: { width: 1440, height: 900 },
    screenshot: 'only-on-failure',
    launchOptions: {
      executablePath: process.env.CHROMIUM,
      args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
    },
  },
})
