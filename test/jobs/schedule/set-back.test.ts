import { expect, test } from 'vitest'
import { keepWaits, watchWallClock } from '../../../jobs/schedule/set-back.ts'
import { aJobsWorkplace, someQueues, takeNext } from '../../support/jobs-workplace.ts'
import { organizationAt } from '../../support/workplace.ts'

const HOUR_MS = 3_600_000
const YEAR_MS = 365 * 24 * HOUR_MS
const AT = { baseUrl: new URL('http://127.0.0.1:1/api/v1') }

test('a job that waits is not made to wait longer by a clock that is set back', async () => {
  const { backend, queues } = await aQueue()
  // As an hour ahead of now would have made it.
  await queues.sync.add('schedule', { organization: 'acme' }, { timestamp: Date.now() + HOUR_MS, delay: 1 })
  let nowMs = Date.now() + HOUR_MS
  const setBack = Promise.withResolvers<number>()
  const clocks = { now: () => nowMs, monotonicMs: () => 5000 }
  const waits = keepWaits(queues.sync, { ...clocks, lookMs: 1, onSetBack: setBack.resolve })
  nowMs -= HOUR_MS
  const jobs = await setBack.promise
  waits.stop()

  expect(await takeNext(backend, 'sync')).toEqual({ organization: 'acme' })
  expect(jobs).toBe(1)
})

test('a job that a clock a year ahead made is not made to wait for a year by a worker that starts later', async () => {
  const { backend, queues } = await aQueue()
  await queues.sync.add('schedule', { organization: 'acme' }, { timestamp: Date.now() + YEAR_MS, delay: 1 })
  await queues.sync.add('schedule', { organization: 'globex' }, { delay: HOUR_MS })
  const setBack = Promise.withResolvers<number>()
  const clocks = { now: Date.now, monotonicMs: () => performance.now() }
  const waits = keepWaits(queues.sync, { ...clocks, lookMs: 1, onSetBack: setBack.resolve })
  const jobs = await setBack.promise
  waits.stop()

  expect(await takeNext(backend, 'sync')).toEqual({ organization: 'acme' })
  expect(jobs).toBe(1)
  expect(await queues.sync.getDelayedCount()).toBe(1)
})

test('a job that waits for the end of a pause or for its window looks at the clock again', async () => {
  let nowMs = Date.now() + HOUR_MS
  const done: string[] = []
  const aJob = (name: string, progress: object) => ({
    progress,
    delay: 5,
    changeDelay: async (ms: number) => done.push(`${name} delayed by ${ms}`),
    promote: async () => done.push(`${name} started`),
  })
  const delayed = [aJob('acme', { putOff: { why: 'window', untilMs: nowMs } }), aJob('globex', { waitedMs: 5 })]
  const setBack = Promise.withResolvers<number>()
  const clocks = { now: () => nowMs, monotonicMs: () => 5000 }
  const queue = Object({ getDelayed: async () => delayed })
  const waits = keepWaits(queue, { ...clocks, lookMs: 1, onSetBack: setBack.resolve })
  nowMs -= HOUR_MS

  expect(await setBack.promise).toBe(2)
  expect(done).toEqual(['acme started', 'globex delayed by 5'])
  waits.stop()
})

test('a queue that does not answer is asked again', async () => {
  let nowMs = Date.now() + HOUR_MS
  let asked = 0
  const setBack = Promise.withResolvers<number>()
  const getDelayed = async () => {
    asked += 1
    if (asked < 3) throw new Error('Connection is closed.')
    return []
  }
  const clocks = { now: () => nowMs, monotonicMs: () => 5000 }
  const waits = keepWaits(Object({ getDelayed }), { ...clocks, lookMs: 1, onSetBack: setBack.resolve })
  nowMs -= HOUR_MS

  expect(await setBack.promise).toBe(0)
  expect(asked).toBe(3)
  waits.stop()
})

test.each([
  ['was set back by an hour', -HOUR_MS, true],
  ['was set back by a second', -1000, false],
  ['was set forward', HOUR_MS, false],
  ['was left alone', 0, false],
])('a clock that %s', (_what, byMs, isNoticed) => {
  let [nowMs, monotonicMs] = [Date.now(), 0]
  const wallClock = watchWallClock({ now: () => nowMs, monotonicMs: () => monotonicMs })
  nowMs += 300_000 + byMs
  monotonicMs += 300_000

  expect(wallClock.wasSetBack()).toBe(isNoticed)
  expect(wallClock.wasSetBack()).toBe(false)
})

async function aQueue() {
  const { mirror, queue } = aJobsWorkplace([organizationAt(AT)], {})
  return someQueues(queue, mirror)
}
