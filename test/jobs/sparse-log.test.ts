import { expect, test } from 'vitest'
import { createSparseLog } from '../../jobs/sparse-log.ts'

test('a reason is logged once, then once a minute with the number of omissions', () => {
  const { told, log, at } = aLog()
  for (let second = 0; second < 130; second += 1) {
    at(second * 1000)
    log.report('OOM')
  }

  expect(told).toEqual([{ reason: 'OOM' }, { reason: 'OOM', leftOut: 59 }, { reason: 'OOM', leftOut: 59 }])
  expect(log.forget()).toBe(9)
})

test('another reason is logged at once, the same reason for another job is not', () => {
  const { told, log } = aLog()
  for (const reason of ['could not renew lock for job acme.1', 'READONLY', 'could not renew lock for job globex.2'])
    log.report(reason)

  expect(told).toEqual([{ reason: 'could not renew lock for job acme.1' }, { reason: 'READONLY' }])
})

test('a forgotten reason is logged again', () => {
  const { told, log } = aLog()
  log.report('OOM')
  log.forget()
  log.report('OOM')

  expect(told).toHaveLength(2)
})

test('reasons that never repeat do not grow without bound, and none is lost', () => {
  const { told, log } = aLog()
  for (let number = 0; number < 1000; number += 1) log.report(`reason ${number}`)

  expect(told).toHaveLength(1000)
  expect(log.forget()).toBe(0)
})

function aLog() {
  let nowMs = 0
  const told: object[] = []
  const log = createSparseLog(
    (fields) => told.push(fields),
    () => nowMs,
  )
  return { told, log, at: (ms: number) => (nowMs = ms) }
}
