import type { ComponentChildren } from 'preact'

interface Props {
  caption: string
  /** The columns' titles; one that begins with a hyphen is read out and not shown. */
  head: string[]
  children: ComponentChildren
}

/** Table is a table that scrolls sideways where it is too wide, with keys too. */
export function Table({ caption, head, children }: Props) {
  return (
    <div class="scroll-x" role="group" aria-label={caption} tabIndex={0}>
      <table class="grid">
        <caption class="visually-hidden">{caption}</caption>
        <thead>
          <tr>
            {head.map(title => (
              <th key={title} scope="col">
                {title.startsWith('-') ? <span class="visually-hidden">{title.slice(1)}</span> : title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  )
}
