import { useState } from 'preact/hooks'
import { messageOf } from '../api/error'
import { failed } from '../state/receipts'
import { Icon } from './Icon'

/** CopyButton puts a text on the clipboard, also over plain HTTP, where browsers have no clipboard API. */
export function CopyButton({ text, label }: { text: string; label: string }) {
  const [done, setDone] = useState(false)
  const copy = async (e: Event) => {
    const button = e.currentTarget as HTMLElement
    try {
      if (navigator.clipboard) await navigator.clipboard.writeText(text)
      else copyByHand(text, button)
    } catch (e) {
      failed('Not copied', messageOf(e))
      return
    }
    setDone(true)
    setTimeout(() => setDone(false), 1500)
  }
  return (
    <button type="button" class="button ghost square small" aria-label={done ? 'Copied' : label} title={label} onClick={copy}>
      <Icon name={done ? 'check' : 'copy'} size={16} />
    </button>
  )
}

function copyByHand(text: string, near: HTMLElement) {
  const area = document.createElement('textarea')
  area.value = text
  near.append(area) // inside a dialog, or it could not have the focus
  area.select()
  const copied = document.execCommand('copy')
  area.remove()
  near.focus() // or Escape would reach nothing
  if (!copied) throw new Error('The browser refuses it.')
}
