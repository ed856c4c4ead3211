import { EventEmitter } from 'node:events'
import { expect, onTestFinished, test } from 'vitest'
import { createSparseLog, watchQueue } from '../../../jobs/queue/queue-faults.ts'
import { eventually } from '../../support/eventually.ts'

test('a reason is logged once a minute with how often it came, for whichever job; another one is logged at once', () => {
  const told: object[] = []
  let nowMs = 0
  const log = createSparseLog(
    (fields) => told.push(fields),
    () => nowMs,
  )
  for (const reason of ['could not renew lock for job acme.1', 'READONLY', 'could not renew lock for job globex.2'])
    log.report(reason)
  nowMs = 60_000
  log.report('could not renew lock for job hooli.3')

  expect(told).toEqual([
    { reason: 'could not renew lock for job acme.1' },
    { reason: 'READONLY' },
    { reason: 'could not renew lock for job hooli.3', leftOut: 1 },
  ])
})

test('a queue that is lost again and again is reported once a minute, and its return as often', async () => {
  const queue = new EventEmitter()
  const lines: string[] = []
  let [nowMs, returned] = [0, 0]
  const note = (fields: unknown, message?: string) => lines.push(message ?? String(fields))
  const watch = watchQueue({
    ...{ queues: [queue], workers: [], write: () => Promise.resolve(), log: { info: note, warn: note } },
    timings: { lookMs: 5, firstPauseMs: 1, longestPauseMs: 1, settleMs: 1 },
    ...{ random: () => 0.5, monotonicMs: () => nowMs, onBack: () => void (returned += 1) },
  })
  onTestFinished(() => watch.stop())
  for (const atMs of [0, 1, 2, 60_000]) {
    nowMs = atMs
    const before = returned
    queue.emit('error', new Error('connect ECONNREFUSED 127.0.0.1:6379'))
    await eventually(
      () => returned,
      (times) => times > before,
    )
  }

  expect(lines).toEqual(['queue lost', 'queue back', 'queue lost', 'queue back'])
})
