import { useState } from 'preact/hooks'
import { messageOf } from '../../api/error'
import { changed, useQuery } from '../../api/query'
import { request } from '../../api/request'
import { write } from '../../api/write'
import { Confirm } from '../../parts/Confirm'
import { CopyButton } from '../../parts/CopyButton'
import { Field } from '../../parts/Field'
import { FormError } from '../../parts/Form'
import { QRCode } from '../../parts/QRCode'
import { Secret } from '../../parts/Secret'
import { Sheet } from '../../parts/Sheet'
import { useForm } from '../../parts/useForm'
import { failed } from '../../state/receipts'

interface Enrolment {
  qr_link: string
  secret: string
}

const base = '/api/v1/auth/app/activate/'
export const factorsPath = '/api/v1/auth/mfa/user-active-methods/'
export const factorModels = ['MFAMethod']

/** SecondFactor protects the account with the codes of an authenticator app. */
export function SecondFactor() {
  const active = useQuery<unknown[]>(factorsPath, factorModels).data
  const [enrolment, setEnrolment] = useState<Enrolment | null>(null)
  const [codes, setCodes] = useState<string[]>([])
  const [ending, setEnding] = useState(false)
  if (!active) return null
  const on = active.length > 0
  const begin = async () => {
    await request<Enrolment>('POST', base, { body: {} }).then(a => setEnrolment(a.data), e => failed('No second factor', messageOf(e)))
  }
  return (
    <Sheet
      title="Second factor"
      text={on ? 'On: signing in also asks for a code of your authenticator app.' : 'Off. With it, signing in also asks for a code of an app on your phone.'}
      actions={
        on ? (
          <button type="button" class="button danger" onClick={() => setEnding(true)}>
            Switch off…
          </button>
        ) : (
          !enrolment && (
            <button type="button" class="button" onClick={() => void begin()}>
              Set it up
            </button>
          )
        )
      }
    >
      {!on && enrolment && (
        <Enrol
          enrolment={enrolment}
          done={backup => {
            setCodes(backup)
            setEnrolment(null)
            changed(factorModels)
          }}
        />
      )}
      <div role="status">
        {codes.length > 0 && (
          <div class="once">
            <strong>Keep these codes: each signs you in once without the app. They are not shown again.</strong>
            <span class="secret">
              <code>{codes.join('  ')}</code>
              <CopyButton text={codes.join('\n')} label="Copy the backup codes" />
            </span>
          </div>
        )}
      </div>
      {ending && (
        <Confirm
          title="No second factor any more?"
          button="Switch it off"
          close={() => setEnding(false)}
          run={async () => {
            await write('POST', '/api/v1/auth/app/deactivate/', {}, { label: 'Second factor switched off', models: factorModels, quiet: true })
            setCodes([])
          }}
        >
          Then the password alone signs you in.
        </Confirm>
      )}
    </Sheet>
  )
}

function Enrol({ enrolment, done }: { enrolment: Enrolment; done: (backupCodes: string[]) => void }) {
  const [code, setCode] = useState('')
  const form = useForm(async () => {
    const answer = await write<{ backup_codes: string[] }>('POST', `${base}confirm/`, { code: code.trim() }, { label: 'Second factor is on', models: [], quiet: true })
    done(answer.backup_codes)
  })
  return (
    <form class="enrol" onSubmit={form.onSubmit}>
      <QRCode text={enrolment.qr_link} label="The secret for an authenticator app" />
      <div class="form">
        <p>Scan this with an authenticator app, or give it the secret:</p>
        <Secret text={enrolment.secret} label="Copy the secret" />
        <Field label="Code that the app shows" autocomplete="one-time-code" required value={code} change={setCode} error={form.fields.code} />
        <FormError text={form.message} />
        <div>
          <button class="button primary" disabled={form.busy}>
            Switch it on
          </button>
        </div>
      </div>
    </form>
  )
}
