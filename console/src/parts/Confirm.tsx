import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { messageOf } from '../api/error'
import { tellAnyway } from '../api/write'
import { Dialog } from './Dialog'
import { FormError } from './Form'
import { useHere } from './useHere'

interface Props {
  title: string
  button: string
  children: ComponentChildren
  run: () => Promise<unknown>
  close: () => void
  /** Must be typed before the button works: for what cannot be undone. */
  word?: string
}

/** Confirm asks before something that cannot be undone. */
export function Confirm({ title, button, children, run, close, word }: Props) {
  const [typed, setTyped] = useState('')
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState('')
  const here = useHere()
  const act = async () => {
    setBusy(true)
    try {
      await run()
      if (here.current) close() // another dialog may be open by now
    } catch (e) {
      if (!here.current) return tellAnyway(e)
      setError(messageOf(e))
      setBusy(false)
    }
  }
  return (
    <Dialog title={title} close={close}>
      <div class="form">
        <div>{children}</div>
        {word !== undefined && (
          <label class="field">
            <span>
              Type <code>{word}</code> to confirm
            </span>
            <input class="input mono" autocomplete="off" value={typed} onInput={e => setTyped(e.currentTarget.value)} />
          </label>
        )}
        <FormError text={error} />
        <div class="actions">
          <button type="button" class="button" onClick={close}>
            Cancel
          </button>
          <button type="button" class="button danger-fill" disabled={busy || (word !== undefined && plain(typed) !== plain(word))} onClick={act}>
            {button}
          </button>
        </div>
      </div>
    </Dialog>
  )
}

/** plain is a text as it is seen: nobody can tell one blank from two, nor type the end of a line. */
const plain = (text: string) => text.trim().replace(/\s+/g, ' ')
