import { write } from '../../api/write'
import { Field } from '../../parts/Field'
import { FormDialog } from '../../parts/FormDialog'
import { useDraft } from '../../parts/useForm'
import { schedulesPath } from './types'

/** NewSchedule has the cluster take backups by itself. */
export function NewSchedule({ close }: { close: () => void }) {
  const { form, field } = useDraft({ name: 'nightly', when: '0 3 * * *', target: 'nightly', keep: '14' }, async draft => {
    await write('POST', schedulesPath, { ...draft, keep: Number(draft.keep) }, { label: `Schedule ${draft.name} made`, models: ['BackupSchedule'], quiet: true })
  }, { done: close })
  const common = { required: true, autocomplete: 'off' }
  return (
    <FormDialog title="New schedule" close={close} form={form} button="Make the schedule">
      <Field label="Name" autofocus hint="Lower-case letters, digits, hyphens: files are named after it." {...common} {...field('name')} />
      <Field label="When" class="input mono" hint="A duration such as 6h, or five cron fields in UTC." {...common} {...field('when')} />
      <Field label="Where" class="input mono" hint="A directory below the backup directory of the nodes, or s3://bucket/prefix." {...common} {...field('target')} />
      <Field label="Files kept" type="number" hint="The oldest go; 0 keeps all." {...common} {...field('keep')} />
    </FormDialog>
  )
}
