import type { LastRun } from '../../../src/store.ts'
import { describe, expect, test } from 'vitest'
import { isForGood } from '../../../src/errors/error-facts.ts'
import { isDue, namedBy, nameOf, planSchedules, type Found, type Wanted } from '../../../jobs/schedule/schedule-plan.ts'

const NOW_MS = Date.parse('2026-01-11T12:00:00Z')
const DUE_MS = Date.parse('2026-01-11T01:00:00Z')
const NEXT_MS = Date.parse('2026-01-12T01:00:00Z')

const acme: Wanted = { organization: 'acme', schedule: { cron: '0 2 * * *', timezone: 'Europe/Paris', spreadMs: 0 } }

test('correct schedules are not changed', () => {
  expect(plan({ found: [asFound()], lastRuns: [completeAt(DUE_MS)] })).toEqual({ catchUp: [], upsert: [], remove: [] })
})

test('a tick that is overdue is left for a worker to take', () => {
  const overdue = asFound({ nextMs: DUE_MS })

  expect(plan({ found: [overdue], lastRuns: [completeAt(DUE_MS)] }).upsert).toEqual([])
})

test('a schedule that has stopped ticking is written again', () => {
  const dead = asFound({ nextMs: DUE_MS, ticks: false })

  expect(plan({ found: [dead], lastRuns: [completeAt(DUE_MS)] }).upsert).toEqual([acme])
})

test.each([
  ['cron line', { cron: '0 3 * * *' }],
  ['time zone', { timezone: 'Europe/Madrid' }],
])('another %s is written', (_what, change) => {
  expect(plan({ found: [asFound(change)], lastRuns: [completeAt(DUE_MS)] })).toEqual({
    catchUp: [],
    upsert: [acme],
    remove: [],
  })
})

test.each([NOW_MS - 1, NOW_MS])('a change that would lose an overdue tick asks for the run first', (nextMs) => {
  const overdue = asFound({ cron: '0 13 * * *', nextMs })

  expect(plan({ found: [overdue], lastRuns: [completeAt(DUE_MS)] })).toMatchObject({
    catchUp: ['acme'],
    upsert: [acme],
  })
})

test.each([
  ['a year', 365 * 86_400_000, [acme]],
  ['three days', 3 * 86_400_000, [acme]],
  ['two days', 2 * 86_400_000, [acme]],
  ['a day', 86_400_000, []],
  ['not at all', 0, []],
])('a schedule whose next tick was written by a clock that was ahead, %s, is written again', (_by, aheadMs, upsert) => {
  const ahead = asFound({ nextMs: NEXT_MS + aheadMs })

  expect(plan({ found: [ahead], lastRuns: [completeAt(DUE_MS)] }).upsert).toEqual(upsert)
})

test.each([
  ['an hour ahead of the clock is written again', 3_600_000, 1],
  ['right by the clock is left', 0, 0],
])('after the clock of this worker was set back, a tick that is %s', (_what, aheadMs, written) => {
  const quarterly = { ...acme, schedule: { ...acme.schedule, cron: '*/15 * * * *' } }
  const found = asFound({ cron: '*/15 * * * *', nextMs: NOW_MS + 900_000 + aheadMs })
  const read = completeAt(NOW_MS)

  expect(plan({ wanted: [quarterly], found: [found], lastRuns: [read], wasSetBack: true }).upsert).toHaveLength(written)
  expect(plan({ wanted: [quarterly], found: [found], lastRuns: [read] }).upsert).toEqual([])
})

test('schedules of removed organizations are removed', () => {
  const gone = asFound({ organization: 'globex' })

  expect(plan({ found: [asFound(), gone], lastRuns: [completeAt(DUE_MS)] }).remove).toEqual(['globex'])
})

describe('quick runs', () => {
  const quick: Wanted = { ...acme, schedule: { ...acme.schedule, cron: '*/15 * * * *' }, isQuick: true }
  const inAMoment = { isQuick: true, cron: '*/15 * * * *', nextMs: NOW_MS + 900_000 } as const

  test('have a schedule of their own beside that of the nights', () => {
    const wanted = [acme, quick]
    const lastRuns = [completeAt(DUE_MS)]

    expect(plan({ wanted, found: [asFound()], lastRuns })).toEqual({ catchUp: [], upsert: [quick], remove: [] })
    expect(plan({ wanted, found: [asFound(inAMoment), asFound()], lastRuns })).toEqual({
      ...{ catchUp: [], upsert: [], remove: [] },
    })
  })

  test('taken out of the configuration, or gone with their organization, lose their schedule', () => {
    const found = [asFound(inAMoment), asFound(), asFound({ ...inAMoment, organization: 'globex' })]

    expect(plan({ found, lastRuns: [completeAt(DUE_MS)] })).toEqual({
      ...{ catchUp: [], upsert: [], remove: ['acme~quick', 'globex~quick'] },
    })
  })

  test('are not made up for, whether one was missed, failed, or lost with the queue', () => {
    const wanted = [acme, quick]
    const lastRuns = [{ ...completeAt(DUE_MS), quickErrorCode: 'server-error' }]
    const overdue = asFound({ ...inAMoment, nextMs: NOW_MS - 1, cron: '*/20 * * * *' })

    expect(plan({ wanted, found: [asFound()], lastRuns, atStart: true }).catchUp).toEqual([])
    expect(plan({ wanted, found: [asFound(), overdue], lastRuns })).toMatchObject({ catchUp: [], upsert: [quick] })
  })

  test.each([['acme'], ['a~b'], ['acme-quick']])('the name %s of a schedule is that of its nights', (name) => {
    expect(namedBy(name)).toEqual({ organization: name })
    expect(namedBy(nameOf({ organization: name, isQuick: true }))).toEqual({ organization: name, isQuick: true })
  })
})

describe('catching up', () => {
  test('an organization never mirrored is due at once', () => {
    expect(plan({ found: [asFound()], lastRuns: [] }).catchUp).toEqual(['acme'])
  })

  test('one run makes up for missed nights', () => {
    expect(plan({ found: [asFound()], lastRuns: [completeAt(DUE_MS - 5 * 86_400_000)] }).catchUp).toEqual(['acme'])
  })

  test('a run that began before the moment it was due does not count for it', () => {
    expect(plan({ found: [asFound()], lastRuns: [completeAt(DUE_MS - 1)] }).catchUp).toEqual(['acme'])
    expect(plan({ found: [asFound()], lastRuns: [completeAt(DUE_MS)] }).catchUp).toEqual([])
  })

  test('a run that was cut short is continued', () => {
    const cut: LastRun = { ...completeAt(DUE_MS - 1), startedAtMs: DUE_MS + 5, status: 'interrupted' }

    expect(plan({ found: [asFound()], lastRuns: [cut] }).catchUp).toEqual(['acme'])
  })

  const failed: LastRun = {
    ...completeAt(DUE_MS - 1),
    startedAtMs: DUE_MS + 5,
    status: 'failed',
    errorCode: 'unauthorized',
  }

  test.each([
    ['since the organization was due, is not retried every few minutes', DUE_MS, []],
    ['before that, is no reason to wait', DUE_MS - 1, ['acme']],
  ])('a run that failed %s', (_since, startedAtMs, catchUp) => {
    expect(plan({ found: [asFound()], lastRuns: [{ ...failed, startedAtMs }] }).catchUp).toEqual(catchUp)
  })

  test.each([
    ['an hour ago', NOW_MS - 3_600_000, ['acme']],
    ['less than an hour ago', NOW_MS - 3_599_999, []],
  ])('an outage that outlived its job, %s, is not the end of the night', (_when, startedAtMs, catchUp) => {
    const outage: LastRun = { ...failed, startedAtMs, errorCode: 'server-error' }

    expect(plan({ found: [asFound()], lastRuns: [outage] }).catchUp).toEqual(catchUp)
  })

  test.each([
    ['an hour ago', NOW_MS - 3_600_000, ['acme']],
    ['less than an hour ago', NOW_MS - 3_599_999, []],
  ])('a secret that was missing %s may be there by now', (_when, startedAtMs, catchUp) => {
    const missing: LastRun = { ...failed, startedAtMs, errorCode: 'config' }

    expect(plan({ found: [asFound()], lastRuns: [missing] }).catchUp).toEqual(catchUp)
  })

  test('a waiting run is requested again within the hour, as its job may have been lost', () => {
    const waits: LastRun = { ...failed, status: 'waiting', errorCode: 'rate-limited' }

    expect(plan({ found: [asFound()], lastRuns: [{ ...waits, startedAtMs: NOW_MS - 3_599_999 }] }).catchUp).toEqual([])
    expect(plan({ found: [asFound()], lastRuns: [{ ...waits, startedAtMs: NOW_MS - 3_600_000 }] }).catchUp).toEqual([
      'acme',
    ])
  })

  test.each(['unauthorized', 'server-error'])('a run that failed with %s in the future says nothing', (errorCode) => {
    const ahead: LastRun = { ...failed, startedAtMs: NOW_MS + 365 * 86_400_000, errorCode }

    expect(plan({ found: [asFound()], lastRuns: [ahead] }).catchUp).toEqual(['acme'])
  })

  test('a starting worker retries a failed run once', () => {
    expect(plan({ found: [asFound()], lastRuns: [failed], atStart: true }).catchUp).toEqual(['acme'])
  })

  test('a queue that has forgotten the schedule has forgotten the retry too', () => {
    expect(plan({ found: [], lastRuns: [failed] }).catchUp).toEqual(['acme'])
  })
})

test.each([
  ['unauthorized', true],
  ['server-error', false],
  ['denied', false],
  ['version', false],
  ['cancelled', false],
])('a run that failed with %s is given up for good: %s', (errorCode, expected) => {
  expect(isForGood(errorCode)).toBe(expected)
})

test('an organization waits for its own moment within the spread', () => {
  const spread: Wanted = { ...acme, schedule: { ...acme.schedule, spreadMs: 3_600_000 } }

  expect(isDue(spread, completeAt(DUE_MS - 60_000), DUE_MS)).toBe(false)
  expect(isDue(spread, completeAt(DUE_MS - 60_000), DUE_MS + 3_600_000)).toBe(true)
})

test.each([
  ['a moment before it was due', DUE_MS - 1, true],
  ['when it was due', DUE_MS, false],
  ['an hour ahead of a clock that was set back', NOW_MS + 3_600_000, false],
  ['in another century', Date.parse('2151-01-01T00:00:00Z'), true],
])('an organization that was last read %s', (_when, asOfMs, due) => {
  expect(isDue(acme, completeAt(asOfMs), NOW_MS)).toBe(due)
})

describe('a run that a person cancelled', () => {
  const cancelled: LastRun = {
    ...completeAt(DUE_MS),
    status: 'failed',
    errorCode: 'cancelled',
    completeAsOfMs: undefined,
  }

  test.each([
    ['the mirror knows it', { lastRuns: [{ ...cancelled, startedAtMs: DUE_MS + 60_000 }] }],
    ['it began when the organization was due', { lastRuns: [{ ...cancelled, startedAtMs: DUE_MS }] }],
    ['its queue knows it', { cancelledUntilMs: new Map([['acme', DUE_MS + 60_000]]) }],
    ['it was the one for the last due time', { cancelledUntilMs: new Map([['acme', DUE_MS]]) }],
    ['its job was to start later', { cancelledUntilMs: new Map([['acme', NOW_MS + 60_000]]) }],
  ])('is not made up for, by a worker that starts either, where %s', (_where, known) => {
    for (const atStart of [false, true]) {
      expect(plan({ found: [asFound()], ...known, atStart }).catchUp).toEqual([])
      expect(plan({ found: [], ...known, atStart }).catchUp).toEqual([])
    }
  })

  test.each([
    ['before the organization was due', { lastRuns: [{ ...cancelled, startedAtMs: DUE_MS - 60_000 }] }],
    ['by a clock of another year', { lastRuns: [{ ...cancelled, startedAtMs: NOW_MS + 365 * 86_400_000 }] }],
    ['for an earlier due time', { cancelledUntilMs: new Map([['acme', DUE_MS - 1]]) }],
    ['for another organization', { cancelledUntilMs: new Map([['globex', NOW_MS]]) }],
  ])('%s holds nothing back', (_when, known) => {
    expect(plan({ found: [asFound()], ...known }).catchUp).toEqual(['acme'])
  })
})

function plan(input: Partial<Parameters<typeof planSchedules>[0]>) {
  return planSchedules({ wanted: [acme], found: [], lastRuns: [], nowMs: NOW_MS, atStart: false, ...input })
}

function asFound(changes: Partial<Found> = {}): Found {
  return { organization: 'acme', cron: '0 2 * * *', timezone: 'Europe/Paris', nextMs: NEXT_MS, ticks: true, ...changes }
}

function completeAt(asOfMs: number): LastRun {
  return { organization: 'acme', startedAtMs: asOfMs, status: 'complete', errorCode: undefined, completeAsOfMs: asOfMs }
}
