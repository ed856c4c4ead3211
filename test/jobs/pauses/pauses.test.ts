import { expect, test } from 'vitest'
import { pause, readPauses, resume } from '../../../jobs/pauses.ts'
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
