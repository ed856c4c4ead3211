import { describe, expect, test } from 'vitest'
import { whyNoQuickRun, type Situation } from '../../../jobs/run/why-no-run.ts'
import type { LastRun } from '../../../src/model/mirror.ts'

const NOW_MS = Date.parse('2026-01-11T12:00:00Z')
const DUE_MS = Date.parse('2026-01-11T01:00:00Z')
const HOUR_MS = 3_600_000

const read: LastRun = {
  organization: 'acme',
  startedAtMs: DUE_MS,
  status: 'complete',
  errorCode: undefined,
  readAsOfMs: DUE_MS,
}
const late: LastRun = { ...read, readAsOfMs: DUE_MS - 1 }

describe('a quick run', () => {
  test('is made between two nights', () => {
    expect(why({})).toBeUndefined()
  })

  test.each([
    ['has not read the list since it was due', late, 'due'],
    ['was never made', undefined, 'due'],
    ['was interrupted an hour ago', cut('interrupted', HOUR_MS), 'unfinished'],
    ['waits for the service since an hour', cut('waiting', HOUR_MS), 'unfinished'],
    ['was interrupted too long ago to be continued', cut('interrupted', 7 * HOUR_MS), undefined],
    ['was interrupted by a clock an hour ahead', cut('interrupted', -HOUR_MS), 'unfinished'],
    ['was interrupted in another century', cut('interrupted', -125 * 365 * 24 * HOUR_MS), undefined],
  ])('where the full run %s', (_what, lastRun, expected) => {
    expect(why({ lastRun })).toBe(expected)
  })

  test.each([
    ['unauthorized', 'refused'],
    ['config', 'refused'],
    ['server-error', undefined],
    ['rate-limited', undefined],
    ['full', undefined],
  ])('after a quick run that failed with %s', (quickErrorCode, expected) => {
    expect(why({ lastRun: { ...read, quickErrorCode } })).toBe(expected)
  })

  test('that a person asks for is made although a full run is due or the last quick run was refused', () => {
    expect(why({ isAsked: true, fullRun: 'prioritized' })).toBe('full-run')
    expect(why({ isAsked: true, lastRun: late })).toBeUndefined()
    expect(why({ isAsked: true, lastRun: { ...read, quickErrorCode: 'unauthorized' } })).toBeUndefined()
    expect(why({ isAsked: true, lastRun: cut('interrupted', HOUR_MS) })).toBe('unfinished')
  })
})

function cut(status: LastRun['status'], agoMs: number): LastRun {
  return { ...read, status, startedAtMs: NOW_MS - agoMs }
}

function why(changes: Partial<Situation>) {
  const schedule = { cron: '0 2 * * *', timezone: 'Europe/Paris', spreadMs: 0 }
  return whyNoQuickRun({
    wanted: { organization: 'acme', schedule },
    fullRun: undefined,
    lastRun: read,
    resumeWithinMs: 6 * HOUR_MS,
    nowMs: NOW_MS,
    isAsked: false,
    ...changes,
  })
}
