// JSON with whole numbers of 64 bits, as traits have them: those that a number cannot hold are bigints, where the browser can.

const raw = (JSON as { rawJSON?: (text: string) => unknown }).rawJSON

/** Whether such numbers can be told exactly. */
export const exact = raw !== undefined

type Reviver = (key: string, value: unknown, context?: { source?: string }) => unknown

/** readJSON is JSON.parse. */
export function readJSON(text: string): unknown {
  if (!exact || !/\d{16}/.test(text)) return JSON.parse(text)
  const revive: Reviver = (_, value, context) => {
    const source = context?.source
    return typeof value === 'number' && !Number.isSafeInteger(value) && source !== undefined && /^-?\d+$/.test(source) ? BigInt(source) : value
  }
  return JSON.parse(text, revive as Parameters<typeof JSON.parse>[1])
}

/** writeJSON is JSON.stringify. */
export const writeJSON = (value: unknown) => JSON.stringify(value, (_, v: unknown) => (typeof v === 'bigint' ? (raw ? raw.call(JSON, String(v)) : Number(v)) : v))
