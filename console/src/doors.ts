import type { ComponentType } from 'preact'
import { Activate } from './pages/Activate'
import { Invitation } from './pages/Invitation'
import { NewPassword } from './pages/NewPassword'
import { Register } from './pages/Register'
import { ForgotPassword } from './pages/ForgotPassword'

/** The pages that need nobody to be signed in: where mails and invite links lead, and the ways in beside the password. */
export const doors: { path: string; component: ComponentType<any> }[] = [
  { path: '/register', component: Register },
  { path: '/password-reset', component: ForgotPassword },
  { path: '/password-reset/confirm/:uid/:token', component: NewPassword },
  { path: '/activate/:uid/:token', component: Activate },
  { path: '/invite/:hash', component: Invitation },
  { path: '/invite-link/:hash', component: Invitation },
]
