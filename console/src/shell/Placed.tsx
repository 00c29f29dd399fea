import { useEffect } from 'preact/hooks'
import type { Page } from '../routes'
import { go } from '../state/place'

interface Props {
  page: Page
  params: Record<string, string | undefined>
}

/** Placed shows a page after noting where its address is. */
export function Placed({ page, params }: Props) {
  const project = params.project === undefined ? undefined : Number(params.project)
  useEffect(() => {
    if (Number.isInteger(project)) go({ project: project! })
    if (params.environment !== undefined) go({ environment: params.environment })
    if (/^\d+$/.test(params.organisation ?? '')) go({ organisation: Number(params.organisation) })
  }, [project, params.environment, params.organisation])
  useEffect(() => {
    document.title = `${page.title} · flagraft`
  }, [page])
  const Component = page.component
  return <Component {...params} project={project} />
}
