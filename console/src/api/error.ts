/** APIError is a refusal in any of the API's shapes. */
export class APIError extends Error {
  constructor(
    readonly status: number,
    message: string,
    /** Messages by field; nested members are joined with dots. */
    readonly fields: Record<string, string> = {},
  ) {
    super(message)
  }
}

/** Unreachable says that no node answered. */
export class Unreachable extends Error {
  constructor() {
    super('No node of the cluster can be reached.')
  }
}

const objectLevel = new Set(['detail', 'non_field_errors', 'error', 'message', 'title'])

/** readError makes an APIError of an answer's body. */
export function readError(status: number, body: unknown): APIError {
  const fields: Record<string, string> = {}
  const general: string[] = []
  collect(body, '', fields, general)
  const message = general[0] ?? Object.entries(fields).map(([name, text]) => `${name}: ${text}`)[0] ?? `The server answered ${status}.`
  return new APIError(status, message, fields)
}

function collect(value: unknown, path: string, fields: Record<string, string>, general: string[]) {
  if (typeof value === 'string') {
    if (path === '') general.push(value)
    else fields[path] ??= value
  } else if (Array.isArray(value)) {
    value.forEach((item, i) => collect(item, typeof item === 'string' ? path : join(path, String(i)), fields, general))
  } else if (value !== null && typeof value === 'object') {
    for (const [name, item] of Object.entries(value)) collect(item, objectLevel.has(name) ? path : join(path, name), fields, general)
  }
}

const join = (path: string, name: string) => (path === '' ? name : `${path}.${name}`)

/** messageOf is the text to show for anything that was thrown. */
export const messageOf = (e: unknown) => (e instanceof Error ? e.message : String(e))
