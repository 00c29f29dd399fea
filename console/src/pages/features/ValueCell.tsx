import { useLocation } from 'preact-iso'
import { useEffect, useRef, useState } from 'preact/hooks'
import { environmentLink } from '../../links'
import { parse, setValue, shown, type Spot } from './flag'

/**
 * ValueCell shows a value and becomes an input when it is clicked: Enter saves, Escape leaves it. An input would drop the ends of lines: a value
 * of several is edited in the panel.
 */
export function ValueCell({ spot, query }: { spot: Spot; query: string }) {
  const [editing, setEditing] = useState(false)
  const [refused, setRefused] = useState<string>() // what was typed, to be mended
  const { route } = useLocation()
  const state = spot.feature.environment_feature_state
  const value = state?.feature_state_value ?? null
  if (editing) {
    const done = () => {
      setEditing(false)
      setRefused(undefined)
    }
    const again = (text: string) => {
      setRefused(text)
      setEditing(true)
    }
    return <Editor spot={spot} first={refused} done={done} refused={again} />
  }
  return (
    <button
      type="button"
      class={`value ${value === null ? 'none' : ''}`}
      disabled={state === null}
      aria-label={`Value of ${spot.feature.name}: ${shown(value)}. Edit`}
      onClick={() => (/[\r\n]/.test(String(value)) ? route(environmentLink(spot.project, spot.environment.api_key, 'features', spot.feature.id) + query) : setEditing(true))}
    >
      {value === null ? 'no value' : value === '' ? '""' : String(value)}
    </button>
  )
}

interface EditorProps {
  spot: Spot
  /** What stands in it at first, other than the value. */
  first: string | undefined
  done: () => void
  refused: (text: string) => void
}

function Editor({ spot, first, done, refused }: EditorProps) {
  const before = spot.feature.environment_feature_state?.feature_state_value ?? null
  const [text, setText] = useState(first ?? (before === null ? '' : String(before)))
  const input = useRef<HTMLInputElement>(null)
  useEffect(() => {
    // After a refusal somebody may type elsewhere by now.
    if (first === undefined || document.activeElement === document.body) input.current?.select()
  }, [])
  const finish = (keep: boolean) => {
    done()
    const value = parse(text, before)
    if (keep && value !== before) void setValue(spot, value).catch(() => refused(text))
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
        if (e.key === 'Enter') finish(true)
        if (e.key === 'Escape') finish(false)
      }}
      onBlur={() => finish(false)}
    />
  )
}
