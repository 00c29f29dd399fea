// People of an organisation and what they may do.

export interface Member {
  id: number
  email: string
  first_name: string
  last_name: string
  last_login: string | null
  role: 'ADMIN' | 'USER'
  date_joined: string
}

export interface Group {
  id: number
  name: string
  is_default: boolean
  users: { id: number; email: string; first_name: string; last_name: string; group_admin: boolean }[]
}

export interface Invite {
  id: number
  email: string
  date_created: string
  invited_by: { email: string } | null
}

export interface InviteLink {
  id: number
  hash: string
  date_created: string
  role: 'ADMIN' | 'USER'
  expires_at: string | null
}

export const organisationPath = (organisation: number | string) => `/api/v1/organisations/${organisation}/`

export const personName = (p: { email: string; first_name: string; last_name: string }) => `${p.first_name} ${p.last_name}`.trim() || p.email

export const memberModels = ['OrganisationUser', 'FFAdminUser']
export const groupModels = ['UserPermissionGroup', 'UserPermissionGroupMembership']
