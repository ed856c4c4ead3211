import { EventEmitter } from 'node:events'
import { expect, onTestFinished, test } from 'vitest'
import { createSparseLog, watchQueue } from '../../../jobs/queue/queue-faults.ts'
import { eventually } from '../../support/eventually.ts'

const LOST = new Error('connect ECONNREFUSED 127.0.0.1:6379')
const MINUTE_MS = 60_000

test('a queue that is lost again and again is reported once a minute, with how often it was', async () => {
  const { lines, lose, isBack, pass } = aWatch()
  for (const _ of [1, 2, 3]) {
    lose()
    await isBack()
  }
  expect(lines).toEqual(['queue lost', 'queue back'])

  pass(MINUTE_MS)
  lose()
  await isBack()
  expect(lines).toEqual(['queue lost', 'queue back', 'queue lost, 2 left out', 'queue back'])
})

test('a loss that follows another one and lasts is reported after a minute', async () => {
  const { lines, lose, isBack, pass, looks, away } = aWatch()
  lose()
  await isBack()
  away()
  lose()
  await looks()
  expect(lines).toEqual(['queue lost', 'queue back'])

  pass(MINUTE_MS)
  await eventually(
    () => lines,
    ({ length }) => length === 3,
  )
  expect(lines.at(-1)).toMatch(/^queue lost/)
})

/** A watch over a queue that is back at the next look, unless it is away. */
function aWatch() {
  const queue = new EventEmitter()
  const lines: string[] = []
  let [nowMs, isAway, looked, returned] = [0, false, 0, 0]
  const note = (fields: unknown, message?: string) => lines.push(`${message ?? String(fields)}${leftOutOf(fields)}`)
  const watch = watchQueue({
    queues: [queue],
    workers: [],
    write: () => {
      looked += 1
      return isAway ? Promise.reject(LOST) : Promise.resolve()
    },
    log: { info: note, warn: note },
    timings: { lookMs: 5, firstPauseMs: 1, longestPauseMs: 1, settleMs: 1 },
    random: () => 0.5,
    monotonicMs: () => nowMs,
    onBack: () => void (returned += 1),
  })
  onTestFinished(() => watch.stop())
  const since = (count: () => number) => {
    const before = count()
    return eventually(count, (now) => now > before)
  }
  return {
    lines,
    lose: () => queue.emit('error', LOST),
    isBack: () => since(() => returned),
    looks: () => since(() => looked),
    pass: (ms: number) => void (nowMs += ms),
    away: () => void (isAway = true),
  }
}

function leftOutOf(fields: unknown): string {
  return typeof fields === 'object' && fields !== null && 'leftOut' in fields
    ? `, ${String(fields.leftOut)} left out`
    : ''
}

test('another reason is logged at once, the same reason for another job is not', () => {
  const told: object[] = []
  const log = createSparseLog(
    (fields) => told.push(fields),
    () => 0,
  )
  for (const reason of ['could not renew lock for job acme.1', 'READONLY', 'could not renew lock for job globex.2'])
    log.report(reason)

  expect(told).toEqual([{ reason: 'could not renew lock for job acme.1' }, { reason: 'READONLY' }])
})
