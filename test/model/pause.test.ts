import { expect, test } from 'vitest'
import { ALL, pauseEndedMs, pauseOf } from '../../src/model/pause.ts'
import { pause, readPauses } from '../../jobs/pauses.ts'

const NOW = 1_000_000
const stated = (sinceMs: number, untilMs?: number, resumedMs?: number) => ({ sinceMs, untilMs, resumedMs })

test.each([
  ['nothing was said', {}, undefined, undefined],
  ['it is paused', { acme: stated(5) }, { sinceMs: 5, untilMs: undefined }, undefined],
  ['it is paused until later', { acme: stated(5, NOW + 1) }, { sinceMs: 5, untilMs: NOW + 1 }, undefined],
  ['its pause has ended by itself', { acme: stated(5, NOW) }, undefined, NOW],
  ['it was resumed', { acme: stated(5, undefined, 90) }, undefined, 90],
  ['all are paused', { [ALL]: stated(7, NOW + 9) }, { sinceMs: 7, untilMs: NOW + 9 }, undefined],
  ['it was resumed although all are paused', { acme: stated(5, undefined, 90), [ALL]: stated(7) }, undefined, 90],
  [
    'all were paused after it was resumed',
    { acme: stated(5, undefined, 90), [ALL]: stated(91) },
    { sinceMs: 91, untilMs: undefined },
    undefined,
  ],
  [
    'it and all are paused, all for longer',
    { acme: stated(5, NOW + 1), [ALL]: stated(7) },
    { sinceMs: 5, untilMs: undefined },
    undefined,
  ],
  [
    'it and all are paused, it for longer',
    { acme: stated(9, NOW + 5), [ALL]: stated(7, NOW + 1) },
    { sinceMs: 7, untilMs: NOW + 5 },
    undefined,
  ],
  [
    'its own pause ended while all are paused',
    { acme: stated(5, 6), [ALL]: stated(4) },
    { sinceMs: 4, untilMs: undefined },
    undefined,
  ],
  ['another one is paused', { globex: stated(5) }, undefined, undefined],
])('%s', (_what, all, paused, endedMs) => {
  const pauses = new Map(Object.entries(all))

  expect(pauseOf(pauses, 'acme', NOW)).toEqual(paused)
  expect(pauseEndedMs(pauses, 'acme', NOW)).toBe(endedMs)
})

test('a pause is kept as text, and read again', async () => {
  const kept = new Map<string, string>()
  const write = async (name: string, text: string) => void kept.set(name, text)
  await pause({ list: async () => kept, write }, ['acme'], { nowMs: 0, untilMs: 60_000 })

  expect([...kept]).toEqual([['pause:acme', '{"since":"1970-01-01T00:00:00.000Z","until":"1970-01-01T00:01:00.000Z"}']])
  expect(await readPauses({ list: async () => kept })).toEqual(new Map([['acme', stated(0, 60_000)]]))
})

test.each(['', 'null', '{}', '{"since":"soon"}', '{"since":5}', '[]', '{'])('%s is no pause', async (text) => {
  const unreadable: string[] = []
  const values = { list: async () => new Map([['pause:acme', text]]) }

  expect(await readPauses(values, (name) => unreadable.push(name))).toEqual(new Map())
  expect(unreadable).toEqual(['pause:acme'])
})

test('what a newer version adds to a pause is left out', async () => {
  const values = { list: async () => new Map([['pause:acme', '{"since":"1970-01-01T00:00:00.000Z","by":"someone"}']]) }

  expect(await readPauses(values)).toEqual(new Map([['acme', stated(0)]]))
})
