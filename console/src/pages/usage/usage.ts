/** Used is what clients asked for on one day; the API tells it per kind of client. */
export interface Used {
  day: string
  flags: number
  identities: number
  traits: number
  environment_document: number
  labels: { user_agent: string | null }
}

/** The kinds of requests, from the bottom of a column up. */
export const kinds = [
  { key: 'flags', title: 'Flags' },
  { key: 'identities', title: 'Identities' },
  { key: 'traits', title: 'Traits' },
  { key: 'environment_document', title: 'Environment documents' },
] as const

export type Day = { day: string } & Record<(typeof kinds)[number]['key'], number>

/** perDay adds up the clients of each day, and puts in the days without requests, until today. */
export function perDay(rows: Used[], days: number, today = new Date()): Day[] {
  const found = new Map<string, Day>()
  for (let i = days - 1; i >= 0; i--) {
    const day = new Date(Date.UTC(today.getUTCFullYear(), today.getUTCMonth(), today.getUTCDate() - i)).toISOString().slice(0, 10)
    found.set(day, { day, flags: 0, identities: 0, traits: 0, environment_document: 0 })
  }
  for (const r of rows) {
    const day = found.get(r.day)
    if (day) for (const k of kinds) day[k.key] += r[k.key]
  }
  return [...found.values()]
}

export const total = (d: Day) => kinds.reduce((sum, k) => sum + d[k.key], 0)
