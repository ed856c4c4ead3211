import { describe, expect, test } from 'vitest'
import { isDue, isMissed, requestMissedRuns, type Occasion } from '../../../jobs/schedule/due-runs.ts'
import type { LastRun } from '../../../src/model/mirror.ts'

const NOW_MS = Date.parse('2026-01-11T12:00:00Z')
const DUE_MS = Date.parse('2026-01-11T01:00:00Z')
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

const SCHEDULE = { cron: '0 2 * * *', timezone: 'Europe/Paris', spreadMs: 0 }

describe('a run is made up for', () => {
  const failed: LastRun = {
    ...completeAt(DUE_MS - 1),
    startedAtMs: DUE_MS + 5,
    status: 'failed',
    errorCode: 'unauthorized',
  }
  const cut: LastRun = { ...completeAt(DUE_MS - 1), startedAtMs: DUE_MS + 5, status: 'interrupted' }
  const outage = (agoMs: number): LastRun => ({ ...failed, startedAtMs: NOW_MS - agoMs, errorCode: 'server-error' })
  const withoutSecret = (agoMs: number): LastRun => ({ ...outage(agoMs), errorCode: 'config' })
  const waiting = (agoMs: number): LastRun => ({ ...outage(agoMs), status: 'waiting', errorCode: 'rate-limited' })
  const cancelled: LastRun = { ...failed, startedAtMs: DUE_MS, errorCode: 'cancelled', readAsOfMs: undefined }

  test.each<[what: string, lastRun: LastRun | undefined, expected: boolean]>([
    ['of an organization never mirrored', undefined, true],
    ['after several nights', completeAt(DUE_MS - 5 * DAY_MS), true],
    ['where the last one began before the moment it was due', completeAt(DUE_MS - 1), true],
    ['where one began at that moment', completeAt(DUE_MS), false],
    ['where one was cut short', cut, true],
    ['where one failed for good', failed, false],
    ['where one failed for good before it was due', { ...failed, startedAtMs: DUE_MS - 1 }, true],
    ['after an outage less than an hour ago', outage(HOUR_MS - 1), false],
    ['after an outage an hour ago', outage(HOUR_MS), true],
    ['where a secret was missing less than an hour ago', withoutSecret(HOUR_MS - 1), false],
    ['where a secret was missing an hour ago', withoutSecret(HOUR_MS), true],
    ['where one waits for less than an hour', waiting(HOUR_MS - 1), false],
    ['where one waits for an hour, as its job may be lost', waiting(HOUR_MS), true],
    ['where a person cancelled it', cancelled, false],
    ['where a person cancelled one before it was due', { ...cancelled, startedAtMs: DUE_MS - 60_000 }, true],
  ])('%s', (_what, lastRun, expected) => {
    expect(missed(lastRun, 'time')).toBe(expected)
  })

  test.each<[what: string, occasion: Occasion, lastRun: LastRun, expected: boolean]>([
    ['a worker that starts tries once again what failed for good', 'start', failed, true],
    ['a worker that starts leaves what a person cancelled', 'start', cancelled, false],
    ['a queue that was away may have lost a retry', 'queue-back', outage(1), true],
    ['a queue that was away may have lost a wait', 'queue-back', waiting(1), true],
    ['a queue that was away makes no refusal good', 'queue-back', failed, false],
  ])('or not: %s', (_what, occasion, lastRun, expected) => {
    expect(missed(lastRun, occasion)).toBe(expected)
  })
})

test('missed runs are requested, and those of organizations that have a job are not counted', async () => {
  const { requests, look } = looking()

  expect(await look()).toEqual(['acme'])
  expect(requests).toEqual(['acme', 'globex'].map((id) => [id, 'catch-up', { dueMs: DUE_MS, askedAtMs: NOW_MS }]))
})

test.each([
  ['for the last due time holds the run back', DUE_MS, []],
  ['of a later moment holds the run back', NOW_MS + 60_000, []],
  ['for an earlier due time holds nothing back', DUE_MS - 1, ['acme']],
])('a cancel %s', async (_what, untilMs, requested) => {
  const cancels = new Map([['cancel:acme', JSON.stringify({ jobs: [], untilMs })]])
  const { look } = looking(cancels)

  expect(await look()).toEqual(requested)
})

test('an organization waits for its own moment within the spread', () => {
  const spread = { ...SCHEDULE, spreadMs: HOUR_MS }

  expect(isDue('acme', spread, completeAt(DUE_MS - 60_000), DUE_MS)).toBe(false)
  expect(isDue('acme', spread, completeAt(DUE_MS - 60_000), DUE_MS + HOUR_MS)).toBe(true)
})

test.each([
  ['a moment before it was due', DUE_MS - 1, true],
  ['when it was due', DUE_MS, false],
  ['an hour ahead of this clock', NOW_MS + HOUR_MS, false],
  ['in another century', Date.parse('2151-01-01T00:00:00Z'), true],
])('an organization that was last read %s', (_when, asOfMs, due) => {
  expect(isDue('acme', SCHEDULE, completeAt(asOfMs), NOW_MS)).toBe(due)
})

function missed(lastRun: LastRun | undefined, occasion: Occasion): boolean {
  return isMissed(lastRun, { dueMs: DUE_MS, nowMs: NOW_MS, occasion })
}

/** Acme and globex, neither of them mirrored, of which globex has a job. */
function looking(cancels = new Map<string, string>()) {
  const requests: unknown[] = []
  const request = async (_kind: string, organization: string, ...asked: unknown[]) => {
    requests.push([organization, ...asked])
    return { added: organization === 'acme', state: 'waiting', id: undefined }
  }
  const organizations = ['acme', 'globex', 'by-hand'].map((id) =>
    Object({ id, schedule: id === 'by-hand' ? undefined : SCHEDULE }),
  )
  const sources = { mirror: { listLastRuns: async () => [] }, values: { list: async () => cancels } }
  const look = () =>
    requestMissedRuns({
      ...{ queues: { request }, ...sources, organizations },
      ...{ occasion: 'time', nowMs: NOW_MS, askedAtMs: NOW_MS },
    })
  return { requests, look }
}

function completeAt(asOfMs: number): LastRun {
  return { organization: 'acme', startedAtMs: asOfMs, status: 'complete', errorCode: undefined, readAsOfMs: asOfMs }
}
