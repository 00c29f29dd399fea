import { useLocation } from 'preact-iso'
import { useState } from 'preact/hooks'
import { write } from '../../api/write'
import { linkIn } from '../../links'
import { Confirm } from '../../parts/Confirm'
import { Field } from '../../parts/Field'
import { FormDialog } from '../../parts/FormDialog'
import { useForm } from '../../parts/useForm'
import { stateModels } from '../features/flag'
import { segmentModels, segmentsPath, type RuledSegment } from './rules'

interface Props {
  project: number
  segment: RuledSegment
}

/** SegmentActions are what can be done with a segment as a whole. */
export function SegmentActions({ project, segment }: Props) {
  const { route } = useLocation()
  const [asking, setAsking] = useState<'clone' | 'delete' | null>(null)
  const close = () => setAsking(null)
  return (
    <div class="segment-actions">
      <button type="button" class="button" onClick={() => setAsking('clone')}>
        Clone…
      </button>
      <button type="button" class="button danger" onClick={() => setAsking('delete')}>
        Delete…
      </button>
      {asking === 'clone' && <Clone project={project} segment={segment} close={close} />}
      {asking === 'delete' && (
        <Confirm
          title={`Delete ${segment.name}?`}
          button="Delete the segment"
          word={segment.name}
          close={close}
          run={async () => {
            await write('DELETE', `${segmentsPath(project)}${segment.id}/`, undefined, { label: `Segment ${segment.name} deleted`, models: [...segmentModels, ...stateModels] })
            route(linkIn('project', 'segments')!, true)
          }}
        >
          The overrides for it go too, in every environment: its users get what everybody gets. This cannot be undone.
        </Confirm>
      )}
    </div>
  )
}

function Clone({ project, segment, close }: Props & { close: () => void }) {
  const { route } = useLocation()
  const [name, setName] = useState(`${segment.name} copy`)
  const clone = () => write<RuledSegment>('POST', `${segmentsPath(project)}${segment.id}/clone/`, { name }, { label: `Segment ${name} made`, models: segmentModels, quiet: true })
  const form = useForm(clone, made => {
    close()
    route(linkIn('project', 'segments', made.id)!)
  })
  return (
    <FormDialog title={`Clone ${segment.name}`} close={close} form={form} button="Clone" message={form.message || form.fields.project}>
      <Field label="Name of the copy" required autofocus autocomplete="off" value={name} change={setName} error={form.fields.name} hint="With the same rules, without the overrides." />
    </FormDialog>
  )
}
