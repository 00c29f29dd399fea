const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' })
const steps: [Intl.RelativeTimeFormatUnit, number][] = [
  ['second', 60],
  ['minute', 60],
  ['hour', 24],
  ['day', 30],
  ['month', 12],
  ['year', Infinity],
]

/** ago is how long ago a time was: "3 minutes ago". */
export function ago(time: string): string {
  let n = (new Date(time).getTime() - Date.now()) / 1000
  for (const [unit, size] of steps) {
    if (Math.abs(n) < size) return relative.format(Math.round(n), unit)
    n /= size
  }
  return time
}

/** moment is a time in full, for tooltips. */
export const moment = (time: string) => new Date(time).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'medium' })
