import { effect, signal } from '@preact/signals'
import { browser } from '../api/storage'

export type Theme = 'system' | 'light' | 'dark'

const key = 'flagraft.theme'
const kept = browser.get(key)

export const theme = signal<Theme>(kept === 'light' || kept === 'dark' ? kept : 'system')

effect(() => {
  document.documentElement.dataset.theme = theme.value
  if (theme.value === 'system') browser.remove(key)
  else browser.set(key, theme.value)
})
