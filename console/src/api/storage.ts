/**
 * keep is sessionStorage or localStorage, which a browser that is told to keep nothing refuses to give, and a full one to fill: then nothing outlives
 * the page.
 */
const keep = (which: 'sessionStorage' | 'localStorage') => ({
  get: (key: string): string | null => attempt(() => window[which].getItem(key)) ?? null,
  set: (key: string, value: string) => void attempt(() => window[which].setItem(key, value)),
  remove: (key: string) => void attempt(() => window[which].removeItem(key)),
})

function attempt<T>(f: () => T): T | undefined {
  try {
    return f()
  } catch {
    return undefined
  }
}

/** What is kept for this tab. */
export const tab = keep('sessionStorage')

/** What is kept in this browser. */
export const browser = keep('localStorage')
