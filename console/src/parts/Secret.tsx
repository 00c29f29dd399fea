import { CopyButton } from './CopyButton'

/** Secret shows a key that is to be copied. */
export function Secret({ text, label }: { text: string; label: string }) {
  return (
    <span class="secret">
      <code>{text}</code>
      <CopyButton text={text} label={label} />
    </span>
  )
}
