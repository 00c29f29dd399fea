import { useState } from 'preact/hooks'
import { origin } from '../../api/nodes'
import { useList, useQuery } from '../../api/query'
import { write } from '../../api/write'
import { Ago } from '../../parts/Ago'
import { Field } from '../../parts/Field'
import { RemoveButton } from '../../parts/RemoveButton'
import { Secret } from '../../parts/Secret'
import { Select } from '../../parts/Select'
import { Sheet } from '../../parts/Sheet'
import { Table } from '../../parts/Table'
import { ago } from '../../parts/time'
import { useForm } from '../../parts/useForm'
import { installation } from '../../state/session'
import { roles } from './MemberList'
import { organisationPath, type Invite, type InviteLink } from './types'

/** Invitations are by mail, to one person, or a link for whoever has it. */
export function Invitations({ organisation }: { organisation: number }) {
  const base = organisationPath(organisation)
  return (
    <>
      <ByMail base={base} />
      <ByLink base={base} />
    </>
  )
}

function ByMail({ base }: { base: string }) {
  const models = ['Invite']
  const invites = useList<Invite>(`${base}invites/`, models)
  const [draft, setDraft] = useState({ email: '', role: 'USER' })
  const form = useForm(async () => {
    await write('POST', `${base}invites/`, draft, { label: `${draft.email} invited`, models, quiet: true })
    setDraft({ ...draft, email: '' })
  })
  return (
    <Sheet title="By mail" text="The mail holds a link that works for this address alone.">
      <form class="inline-form new-row wide" onSubmit={form.onSubmit}>
        <Field label="E-mail address" type="email" autocomplete="off" required value={draft.email} change={email => setDraft({ ...draft, email })} error={form.fields.email ?? (form.message || undefined)} />
        <Select label="Role" value={draft.role} change={role => setDraft({ ...draft, role })} options={roles} />
        <button class="button" disabled={form.busy}>
          Invite
        </button>
      </form>
      {installation.value?.mails === false && (
        <p class="warning">This installation sends no mail: an invitation stays in a file on a node.{installation.value.invite_links && ' Make a link below instead, and send it yourself.'}</p>
      )}
      {invites.error && !invites.data && <p class="field-error">{invites.error}</p>}
      {!!invites.data?.length && (
        <Table caption="Invitations by mail" head={['Address', 'Invited', 'By', '-Actions']}>
          {invites.data.map(i => (
            <tr key={i.id}>
              <th scope="row">{i.email}</th>
              <td>
                <Ago time={i.date_created} />
              </td>
              <td>{i.invited_by?.email ?? '–'}</td>
              <td class="end">
                <button
                  type="button"
                  class="button small"
                  aria-label={`Send again to ${i.email}`}
                  onClick={() => void write('POST', `${base}invites/${i.id}/resend/`, undefined, { label: `${i.email} gets the mail again`, models }).catch(() => {})}
                >
                  Send again
                </button>
                <RemoveButton label={`Take the invitation of ${i.email} back`} remove={() => write('DELETE', `${base}invites/${i.id}/`, undefined, { label: `Invitation of ${i.email} taken back`, models })} />
              </td>
            </tr>
          ))}
        </Table>
      )}
    </Sheet>
  )
}

function ByLink({ base }: { base: string }) {
  const models = ['InviteLink']
  const links = useQuery<InviteLink[]>(`${base}invite-links/`, models)
  const off = installation.value?.invite_links === false
  const [role, setRole] = useState('USER')
  const make = () => write('POST', `${base}invite-links/`, { role }, { label: 'Invite link made', models }).catch(() => {})
  return (
    <Sheet title="By link" text="Whoever has the link may join, until it is removed.">
      {off && <p class="warning">This installation takes no invite links (--disable-invite-links): none can be made, and nobody joins by one.</p>}
      {!off && links.error && !links.data && <p class="field-error">{links.error}</p>}
      {!!links.data?.length && (
        <Table caption="Invite links" head={['Link', 'Role', 'Made', '-Actions']}>
          {links.data.map(l => (
            <tr key={l.id}>
              <th scope="row">
                <Secret text={`${origin.value}/invite-link/${l.hash}`} label="Copy the link" />
              </th>
              <td>{roles.find(r => r.value === l.role)?.label}</td>
              <td>
                <Ago time={l.date_created} />
                {l.expires_at && <span class="sub">ends {ago(l.expires_at)}</span>}
              </td>
              <td class="end">
                <RemoveButton label="Remove the link" remove={() => write('DELETE', `${base}invite-links/${l.id}/`, undefined, { label: 'Invite link removed', models })} />
              </td>
            </tr>
          ))}
        </Table>
      )}
      {!off && (
        <div class="inline-form new-row">
          <Select label="Role of those who join" value={role} change={setRole} options={roles} />
          <button type="button" class="button" onClick={() => void make()}>
            Make a link
          </button>
        </div>
      )}
    </Sheet>
  )
}
