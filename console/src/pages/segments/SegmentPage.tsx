import { useQuery } from '../../api/query'
import { Empty } from '../../parts/Empty'
import { segmentModels, segmentsPath, type RuledSegment } from './rules'
import { SegmentEditor } from './SegmentEditor'

/** SegmentPage is one segment, or a new one. */
export function SegmentPage({ project, segment }: { project: number; segment: string }) {
  const known = useQuery<RuledSegment>(segment === 'new' ? null : `${segmentsPath(project)}${Number(segment)}/`, segmentModels)
  if (segment === 'new') return <SegmentEditor project={project} />
  if (known.data) return <SegmentEditor project={project} segment={known.data} />
  return <div class="page" aria-busy={!known.error}>{known.error && <Empty icon="alert" title={known.error} />}</div>
}
