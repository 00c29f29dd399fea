import { count as number } from './amount'

interface Props {
  page: number
  pages: number
  count: number
  go: (page: number) => void
  /** What there are, one and many, and the names of the buttons. */
  unit?: [string, string]
  words?: [string, string]
}

/** Pager goes through the pages of a list. */
export function Pager({ page, pages, count, go, unit = ['entry', 'entries'], words = ['Newer', 'Older'] }: Props) {
  return (
    <nav class="pager" aria-label="Pages">
      <span class="muted">
        {number(count)} {unit[count === 1 ? 0 : 1]}
      </span>
      {pages > 1 && (
        <>
          <button type="button" class="button small" disabled={page <= 1} onClick={() => go(page - 1)}>
            {words[0]}
          </button>
          <span>
            {page} of {number(pages)}
          </span>
          <button type="button" class="button small" disabled={page >= pages} onClick={() => go(page + 1)}>
            {words[1]}
          </button>
        </>
      )}
    </nav>
  )
}
