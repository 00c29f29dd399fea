import { useLocation } from 'preact-iso'
import type { ComponentChildren } from 'preact'
import { useEffect, useErrorBoundary } from 'preact/hooks'
import { messageOf } from '../api/error'
import { Empty } from './Empty'

/** Boundary stands in for what fails while it is drawn, until one goes to another page: the rest of the console goes on. */
export function Boundary({ children }: { children: ComponentChildren }) {
  const { url } = useLocation()
  const [error, reset] = useErrorBoundary(e => console.error(e))
  useEffect(reset, [url])
  if (error === undefined) return <>{children}</>
  return (
    <div class="page" role="alert">
      <Empty icon="alert" title="This page cannot be shown">
        <p>{messageOf(error)}</p>
        <button type="button" class="button" onClick={() => location.reload()}>
          Load it again
        </button>
      </Empty>
    </div>
  )
}
