import { useState } from 'preact/hooks'
import { write } from '../../api/write'
import { Dialog } from '../../parts/Dialog'
import { Field } from '../../parts/Field'
import { useForm } from '../../parts/useForm'
import { schedulesPath } from './Backups'

/** NewSchedule has the cluster take backups by itself. */
export function NewSchedule({ close }: { close: () => void }) {
  const [draft, setDraft] = useState({ name: 'nightly', when: '0 3 * * *', target: 'nightly', keep: '14' })
  const form = useForm(async () => {
    await write('POST', schedulesPath, { ...draft, keep: Number(draft.keep) }, { label: `Schedule ${draft.name} made`, models: ['BackupSchedule'], quiet: true })
    close()
  })
  const field = (name: keyof typeof draft) => ({
    value: draft[name],
    change: (value: string) => setDraft({ ...draft, [name]: value }),
    error: form.fields[name],
    autocomplete: 'off',
    required: true,
  })
  return (
    <Dialog title="New schedule" close={close}>
      <form class="form" onSubmit={form.onSubmit}>
        <Field label="Name" autofocus hint="Lower-case letters, digits, hyphens: files are named after it." {...field('name')} />
        <Field label="When" class="input mono" hint="A duration such as 6h, or five cron fields in UTC." {...field('when')} />
        <Field label="Where" class="input mono" hint="A directory below the backup directory of the nodes, or s3://bucket/prefix." {...field('target')} />
        <Field label="Files kept" type="number" hint="The oldest go; 0 keeps all." {...field('keep')} />
        <p class="form-error" role="alert">
          {form.message}
        </p>
        <div class="actions">
          <button type="button" class="button" onClick={close}>
            Cancel
          </button>
          <button class="button primary" disabled={form.busy}>
            Make the schedule
          </button>
        </div>
      </form>
    </Dialog>
  )
}
