import { shown, type FieldChange } from './types'

/** Diff is what changed, field by field. */
export function Diff({ fields, caption }: { fields: FieldChange[]; caption: string }) {
  if (fields.length === 0) return <p class="nothing">No field differs.</p>
  return (
    <div class="scroll-x" role="group" aria-label={caption} tabIndex={0}>
      <table class="grid diff">
        <caption class="visually-hidden">{caption}</caption>
        <thead>
          <tr>
            <th scope="col">Field</th>
            <th scope="col">Before</th>
            <th scope="col">After</th>
          </tr>
        </thead>
        <tbody>
          {fields.map(f => (
            <tr key={f.field}>
              <th scope="row">{f.field}</th>
              <td>{f.old === null || f.old === undefined ? <span class="muted">–</span> : <del class="mono">{shown(f.old)}</del>}</td>
              <td>{f.new === null || f.new === undefined ? <span class="muted">–</span> : <ins class="mono">{shown(f.new)}</ins>}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
