import { useLocation } from 'preact-iso'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { environmentLink } from '../../links'
import { brief } from '../../parts/brief'
import { failed } from '../../state/receipts'
import { parse, setValue, shown, type Spot } from './flag'

/**
 * ValueCell shows a value and becomes an input when it is clicked: Enter saves, Escape leaves it as it was, and what was typed when the focus goes
 * elsewhere is there again at the next click. Where somebody else set it meanwhile, the first Enter tells so. An input would drop the ends of lines: a value
 * of several is edited in the panel.
 */
export function ValueCell({ spot, query }: { spot: Spot; query: string }) {
  const [editing, setEditing] = useState(false)
  const [kept, setKept] = useState<string>() // what was typed and is not saved
  const { route } = useLocation()
  const state = spot.feature.environment_feature_state
  const value = state?.feature_state_value ?? null
  if (editing) {
    const done = (typed?: string) => {
      setEditing(false)
      setKept(typed)
    }
    const again = (text: string) => {
      setKept(text)
      setEditing(true)
    }
    return <Editor spot={spot} first={kept} done={done} refused={again} />
  }
  return (
    <button
      type="button"
      class={`value ${value === null ? 'none' : ''}`}
      disabled={state === null}
      aria-label={`Value of ${spot.feature.name}: ${brief(shown(value))}. Edit`}
      onClick={() => (/[\r\n]/.test(String(value)) ? route(environmentLink(spot.project, spot.environment.api_key, 'features', spot.feature.id) + query) : setEditing(true))}
    >
      {value === null ? 'no value' : value === '' ? '""' : brief(String(value))}
    </button>
  )
}

interface EditorProps {
  spot: Spot
  /** What stands in it at first, other than the value. */
  first: string | undefined
  done: (typed?: string) => void
  refused: (text: string) => void
}

function Editor({ spot, first, done, refused }: EditorProps) {
  const before = spot.feature.environment_feature_state?.feature_state_value ?? null
  const [text, setText] = useState(first ?? (before === null ? '' : String(before)))
  const input = useRef<HTMLInputElement>(null)
  // Before the next key: after a frame, who types on at once would lose the first letters, or the Enter.
  useLayoutEffect(() => {
    // After a refusal somebody may type elsewhere by now.
    if (first === undefined || document.activeElement === document.body) input.current?.select()
  }, [])
  const known = useRef(before)
  const over = useRef(false) // an input that goes with the focus in it loses that at last
  const end = (typed?: string) => {
    if (over.current) return
    over.current = true
    done(typed)
  }
  const save = () => {
    const value = parse(text, before)
    if (before !== known.current && value !== before) {
      known.current = before
      failed(`${spot.feature.name} not saved`, `It was set to ${brief(shown(before))} meanwhile. Enter saves yours, Escape leaves it so.`)
      return
    }
    end()
    if (value !== before) void setValue(spot, value).catch(() => refused(text))
  }
  return (
    <input
      ref={input}
      class="input value-input"
      aria-label={`Value of ${spot.feature.name}`}
      value={text}
      onInput={e => setText(e.currentTarget.value)}
      onKeyDown={e => {
        e.stopPropagation()
        if (e.isComposing) return // the key belongs to the input method
        if (e.key === 'Enter') save()
        if (e.key === 'Escape') end()
      }}
      onBlur={() => end(parse(text, before) === before ? undefined : text)}
    />
  )
}
