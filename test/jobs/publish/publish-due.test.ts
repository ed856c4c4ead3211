import { expect, test } from 'vitest'
import { isDue, type PublishState } from '../../../jobs/publish/publisher.ts'

const LIMITS = { publishQuietMs: 60, publishLatestMs: 3600, publishRestMs: 600 }
const NOTHING: PublishState = {
  running: new Set(),
  changedAtMs: undefined,
  endedAtMs: undefined,
  publishedAtMs: undefined,
}

test.each<[what: string, state: Partial<PublishState>, nowMs: number, expected: boolean]>([
  ['nothing changed', {}, 10_000, false],
  ['nothing changed since the last copy', { endedAtMs: 0, publishedAtMs: 100 }, 10_000, false],
  ['the last run has just ended', { changedAtMs: 0, endedAtMs: 0 }, 59, false],
  ['no run for a while', { changedAtMs: 0, endedAtMs: 0 }, 60, true],
  ['a first change, and a later one', { changedAtMs: 0, endedAtMs: 50 }, 100, false],
  ['a run is under way', { changedAtMs: 0, endedAtMs: 0, running: new Set(['acme']) }, 1000, false],
  ['runs follow each other for too long', { changedAtMs: 0, endedAtMs: 3599, running: new Set(['acme']) }, 3600, true],
  ['the last copy was made a moment ago', { changedAtMs: 500, endedAtMs: 500, publishedAtMs: 450 }, 1000, false],
  ['the last copy was made some time ago', { changedAtMs: 500, endedAtMs: 500, publishedAtMs: 450 }, 1050, true],
  [
    'too long, but the last attempt was a moment ago',
    { changedAtMs: 0, endedAtMs: 3599, publishedAtMs: 3500 },
    3600,
    false,
  ],
  ['something may have changed before this worker started', { changedAtMs: 0 }, 60, true],
])('%s', (_, state, nowMs, expected) => {
  expect(isDue({ ...NOTHING, ...state }, nowMs, LIMITS)).toBe(expected)
})
