import { count as number } from './amount'

interface Props {
  page: number
  pages: number
  count: number
  go: (page: number) => void
}

/** Pager goes through the pages of a list. */
export function Pager({ page, pages, count, go }: Props) {
  return (
    <nav class="pager" aria-label="Pages">
      <span class="muted">
        {number(count)} {count === 1 ? 'entry' : 'entries'}
      </span>
      {pages > 1 && (
        <>
          <button type="button" class="button small" disabled={page <= 1} onClick={() => go(page - 1)}>
            Newer
          </button>
          <span>
            {page} of {number(pages)}
          </span>
          <button type="button" class="button small" disabled={page >= pages} onClick={() => go(page + 1)}>
            Older
          </button>
        </>
      )}
    </nav>
  )
}
