import { effect, signal } from '@preact/signals'

export type Theme = 'system' | 'light' | 'dark'

const key = 'flagraft.theme'
const kept = localStorage.getItem(key)

export const theme = signal<Theme>(kept === 'light' || kept === 'dark' ? kept : 'system')

effect(() => {
  document.documentElement.dataset.theme = theme.value
  if (theme.value === 'system') localStorage.removeItem(key)
  else localStorage.setItem(key, theme.value)
})
