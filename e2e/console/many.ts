import type { API } from './world'

export const many = 1000

/** makeMany fills the demo project up to a thousand flags: flag_0004 and so on, every tenth with a value of its own, every other one on. */
export async function makeMany(api: API) {
  const path = '/api/v1/projects/1/features/'
  let next = (await api.send('GET', path)).count + 1
  const maker = async () => {
    while (next <= many) {
      const n = next++
      const name = `flag_${String(n).padStart(4, '0')}`
      await api.send('POST', path, { name, description: `Number ${n} of many`, default_enabled: n % 2 === 0, ...(n % 10 === 0 ? { initial_value: n } : {}) })
    }
  }
  await Promise.all(Array.from({ length: 8 }, maker))
}
