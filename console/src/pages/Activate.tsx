import { useEffect, useState } from 'preact/hooks'
import { messageOf } from '../api/error'
import { request } from '../api/request'
import { Door } from '../parts/Door'

/** Activate is where the mail leads that a new account gets, when the installation wants addresses to be proved. */
export function Activate({ uid, token }: { uid: string; token: string }) {
  const [text, setText] = useState('One moment…')
  useEffect(() => {
    request('POST', '/api/v1/auth/users/activation/', { body: { uid, token } }).then(
      () => setText('Your account is active. You can sign in now.'),
      e => setText(messageOf(e)),
    )
  }, [uid, token])
  return (
    <Door title="Your account" text={text}>
      <a class="button primary wide" href="/">
        To the sign-in
      </a>
    </Door>
  )
}
