const units = ['bytes', 'kB', 'MB', 'GB', 'TB']

/** bytes is an amount of memory or disk: "1.2 GB". */
export function bytes(n: number): string {
  let i = 0
  for (; n >= 1000 && i < units.length - 1; i++) n /= 1000
  return `${i === 0 || n >= 100 ? Math.round(n) : n.toFixed(1)} ${units[i]}`
}

const whole = new Intl.NumberFormat('en')

/** count is a number for people: "1,234". */
export const count = (n: number) => whole.format(n)

/** rate is so many a second. */
export const rate = (n: number) => `${n >= 10 || n === 0 ? count(Math.round(n)) : n.toFixed(1)}/s`

/** duration is a length of time, given in seconds: "0.4 ms". */
export function duration(seconds: number): string {
  if (seconds < 1e-3) return `${Math.round(seconds * 1e6)} µs`
  if (seconds < 1) return `${(seconds * 1e3).toPrecision(2).replace(/\.0$/, '')} ms`
  return `${seconds.toPrecision(2)} s`
}
