import { useLocation } from 'preact-iso'
import { useState } from 'preact/hooks'
import { request } from '../api/request'
import type { Organisation } from '../api/types'
import { changed } from '../api/query'
import { Door } from '../parts/Door'
import { FormError } from '../parts/Form'
import { useForm } from '../parts/useForm'
import { go } from '../state/place'
import { me } from '../state/session'
import { AccountForm } from './AccountForm'
import { SignInForm } from './SignInForm'

/** Invitation is where mails and links lead that invite somebody into an organisation. */
export function Invitation({ hash }: { hash: string }) {
  const { path, route } = useLocation()
  const link = path.startsWith('/invite-link/')
  const [known, setKnown] = useState(false)
  const form = useForm(async () => {
    const { data } = await request<Organisation>('POST', `/api/v1/users/join/${link ? 'link/' : ''}${encodeURIComponent(hash)}/`)
    changed(['Organisation'])
    go({ organisation: data.id })
    route('/')
  })
  if (me.value) {
    return (
      <Door title="You are invited" text={`Join the organisation as ${me.value.email}.`}>
        <form class="form" onSubmit={form.onSubmit}>
          <FormError text={form.message || Object.values(form.fields)[0]} />
          <button class="button primary wide" disabled={form.busy}>
            Join
          </button>
        </form>
      </Door>
    )
  }
  const invited = { sign_up_type: link ? 'INVITE_LINK' : 'INVITE_EMAIL', ...(link ? { invite_hash: hash } : {}) } as const
  return (
    <Door title="You are invited" text={known ? 'Sign in to join.' : 'Make an account to join; with the address that was invited, if it came by mail.'}>
      {known ? <SignInForm /> : <AccountForm button="Make the account" more={invited} />}
      <button type="button" class="button ghost wide" onClick={() => setKnown(!known)}>
        {known ? 'I have no account' : 'I have an account'}
      </button>
    </Door>
  )
}
