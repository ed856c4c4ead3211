import { expect, test } from 'vitest'
import { pause, readPauses, resume, watchPauses } from '../../../jobs/pauses.ts'
import { ALL, pauseOf } from '../../../src/model/pause.ts'

const NOW = 1_000_000

function someValues() {
  const kept = new Map<string, string>()
  return {
    list: async () => new Map(kept),
    write: async (name: string, value: string) => {
      kept.set(name, value)
    },
  }
}

test.each([
  ['later', 20],
  ['by a clock that is behind', -20],
])('all are paused again, the one that was resumed too: %s', async (_what, afterMs) => {
  const values = someValues()
  await pause(values, [ALL], { nowMs: NOW, untilMs: undefined })
  await resume(values, ['acme'], NOW + 10)
  const between = pauseOf(await readPauses(values), 'acme', NOW + 10)
  await pause(values, [ALL], { nowMs: NOW + afterMs, untilMs: undefined })

  expect(between).toBeUndefined()
  expect(pauseOf(await readPauses(values), 'acme', NOW + afterMs)).toMatchObject({ untilMs: undefined })
})

test('a pause says until when the organization is paused, with that of all of them', async () => {
  const values = someValues()
  await pause(values, [ALL], { nowMs: NOW, untilMs: undefined })
  const changed = await pause(values, ['acme'], { nowMs: NOW + 5, untilMs: NOW + 10 })

  expect(changed).toEqual([
    { name: 'acme', before: { sinceMs: NOW, untilMs: undefined }, now: { sinceMs: NOW, untilMs: undefined } },
  ])
})

test('a job that waits for the end of a pause starts when that was set later, and comes', async () => {
  let nowMs = 1000
  const { promise: looked, resolve: look } = Promise.withResolvers<void>()
  const { promise: promoted, resolve: promote } = Promise.withResolvers<number>()
  let looks = 0
  const values = {
    list: async () => {
      looks += 1
      if (looks === 3) look()
      return new Map([['pause:acme', JSON.stringify({ sinceMs: 0, untilMs: 2000 })]])
    },
  }
  const job = {
    data: { organization: 'acme' },
    // It was put off while the end of the pause was not known.
    progress: { wait: { why: 'pause' } },
    promote: async () => promote(nowMs),
  }
  const watching = { values, sync: Object({ getDelayed: async () => [job] }), lookMs: 1, now: () => nowMs }
  const watch = watchPauses(watching)
  await looked
  nowMs = 2000

  expect(await promoted).toBe(2000)
  watch.stop()
})
