import { expect, test } from 'vitest'
import { watchPauses } from '../../../jobs/pauses.ts'

test('a job that waits for the end of a pause starts when that was set later, and comes', async () => {
  let nowMs = 1000
  const { promise: looked, resolve: look } = Promise.withResolvers<void>()
  const { promise: promoted, resolve: promote } = Promise.withResolvers<number>()
  let looks = 0
  const values = {
    list: async () => {
      looks += 1
      if (looks === 3) look()
      return new Map([['pause:acme', JSON.stringify({ since: new Date(0), until: new Date(2000) })]])
    },
  }
  const job = {
    data: { organization: 'acme' },
    // It was put off while the end of the pause was not known.
    progress: { wait: { why: 'pause' } },
    promote: async () => promote(nowMs),
  }
  const watching = { values, sync: Object({ getDelayed: async () => [job] }), lookMs: 1, now: () => nowMs }
  const watch = watchPauses({ ...watching, onUnreadable: () => {} })
  await looked
  nowMs = 2000

  expect(await promoted).toBe(2000)
  watch.stop()
})
