import { useState } from 'preact/hooks'
import { Confirm } from '../../parts/Confirm'
import { Sheet } from '../../parts/Sheet'

interface Props {
  /** What goes: "project". */
  kind: string
  name: string
  text: string
  warning: string
  run: () => Promise<unknown>
}

/** DeleteSheet is the end of a page of settings: it deletes what they are of, once its name was typed. */
export function DeleteSheet({ kind, name, text, warning, run }: Props) {
  const [asking, setAsking] = useState(false)
  return (
    <Sheet
      title="Delete it"
      text={text}
      actions={
        <button type="button" class="button danger" onClick={() => setAsking(true)}>
          Delete…
        </button>
      }
    >
      {asking && (
        <Confirm title={`Delete ${name}?`} button={`Delete the ${kind}`} word={name} close={() => setAsking(false)} run={run}>
          {warning}
        </Confirm>
      )}
    </Sheet>
  )
}
