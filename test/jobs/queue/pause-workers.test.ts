import { expect, onTestFinished, test } from 'vitest'
import { WorkerPauses } from '../../../jobs/queue/pause-workers.ts'
import { eventually } from '../../support/eventually.ts'

const TIMINGS = { firstPauseMs: 1, longestPauseMs: 4, settleMs: 1 }

test('workers pause at the first failure, and come back when the queue takes a write again', async () => {
  const place = aPlace({ refusals: 3 })
  place.pauses.failed()
  expect(place.calls).toEqual(['pause', 'pause'])

  await eventually(
    () => place.calls,
    (calls) => calls.includes('settled'),
  )
  expect(place.calls).toEqual([
    ...['pause', 'pause', 'write', 'refused', 'write', 'refused', 'write', 'refused', 'write'],
    ...['resume', 'resume', 'settled'],
  ])
})

test('failures while they are paused change nothing', async () => {
  const place = aPlace({ refusals: 1 })
  for (let times = 0; times < 100; times += 1) place.pauses.failed()

  expect(place.calls).toEqual(['pause', 'pause'])
})

test('a worker that fails although the queue accepts writes pauses longer each time, and the queue is not reported as working', async () => {
  const place = aPlace({ settleMs: 60_000, failAgain: 5 })
  place.pauses.failed()

  await eventually(
    () => place.calls.filter((call) => call === 'resume').length,
    (resumed) => resumed === 12,
  )
  expect(place.calls).not.toContain('settled')
})

test('after a stop, the queue is not asked and no worker is resumed', async () => {
  const place = aPlace({ firstPauseMs: 60_000 })
  place.pauses.failed()
  place.pauses.stop()
  place.pauses.askNow()
  place.pauses.failed()
  await new Promise((resolve) => setImmediate(resolve))

  expect(place.calls).toEqual(['pause', 'pause'])
})

test('a queue that is back is asked at once, however long the wait would be', async () => {
  const place = aPlace({ firstPauseMs: 3_600_000, longestPauseMs: 3_600_000 })
  place.pauses.failed()
  place.pauses.askNow()

  await eventually(
    () => place.calls,
    (calls) => calls.includes('settled'),
  )
})

function aPlace({
  refusals = 0,
  failAgain = 0,
  ...timings
}: Partial<typeof TIMINGS> & { refusals?: number; failAgain?: number } = {}) {
  const calls: string[] = []
  let refused = 0
  let failed = 0
  const worker = {
    pause: async () => void calls.push('pause'),
    resume: () => {
      calls.push('resume')
      if (failed < failAgain * 2 && (failed += 1) % 2 === 0) pauses.failed()
    },
  }
  const pauses: WorkerPauses = new WorkerPauses({
    workers: [worker, worker],
    write: async () => {
      calls.push('write')
      if (refused < refusals) {
        refused += 1
        throw new Error('refused')
      }
    },
    timings: { ...TIMINGS, ...timings },
    random: () => 0.5,
    onRefused: () => void calls.push('refused'),
    onSettled: () => void calls.push('settled'),
  })
  onTestFinished(() => pauses.stop())
  return { calls, pauses }
}
