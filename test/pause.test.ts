import { expect, test } from 'vitest'
import { ALL, pauseEndedMs, pauseOf } from '../src/pause.ts'
import { parsePause, pauseText } from '../jobs/pauses/pauses.ts'

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

test('a pause is kept as text, and read again', () => {
  expect(pauseText(stated(0, 60_000))).toBe('{"since":"1970-01-01T00:00:00.000Z","until":"1970-01-01T00:01:00.000Z"}')
  for (const each of [stated(0), stated(0, 60_000), stated(0, 60_000, 30_000)])
    expect(parsePause(pauseText(each))).toEqual(each)
})

test.each(['', 'null', '{}', '{"since":"soon"}', '{"since":5}', '[]', '{'])('%s is no pause', (text) => {
  expect(parsePause(text)).toBeUndefined()
})

test('what a newer version adds to a pause is left out', () => {
  expect(parsePause('{"since":"1970-01-01T00:00:00.000Z","by":"someone"}')).toEqual(stated(0))
})
