import { expect, onTestFinished, test, vi } from 'vitest'
import { takeOverLeftJobs, type FreeJobs } from '../../../jobs/queue/left-jobs.ts'
import { eventually } from '../../support/eventually.ts'
import { aGate } from '../../support/gate.ts'
import { aJobsWorkplace } from '../../support/jobs-workplace.ts'
import { rowsOf } from '../../support/mirror-file.ts'
import { expectWhole } from '../../support/one-worker.ts'
import { startWorker } from '../../support/worker-here.ts'
import { startWorkerProcess } from '../../support/worker-process.ts'
import { aSandbox, organizationsOf } from '../../support/workplace.ts'

/** No lock runs out, and no job is looked for because of that, while a test lasts. */
const FOR_EVER = { lockMs: 3_600_000, stalledMs: 3_600_000, catchUpMs: 3_600_000 }

test('the job of a worker that was killed is taken over at once, and its run goes on', async () => {
  const gate = aGate({ fromPage: 4 })
  const sandbox = await aSandbox({ customers: [500], intercept: gate.intercept })
  const place = aJobsWorkplace(organizationsOf(sandbox, { concurrency: 1, scan: 'chain' }))
  const killed = startWorkerProcess(place, { timings: FOR_EVER })
  await gate.reached
  killed.send('SIGKILL')
  await killed.ended
  gate.open()
  await startWorker(place, { timings: FOR_EVER }).ran('acme')

  expectWhole(place.mirror, 500)
  expect(rowsOf(place.mirror, 'SELECT status, "trigger", resumed_from FROM runs ORDER BY id')).toEqual([
    { status: 'interrupted', trigger: 'catch-up', resumed_from: null },
    { status: 'complete', trigger: 'catch-up', resumed_from: 1 },
  ])
})

test('what is the same for two lifetimes of a lock is no longer renewed, by whatever clock it is dated', async () => {
  const found: { same: boolean; renewed: boolean }[] = []
  const freeJobs: FreeJobs = async (_queue, { isSilent }) => {
    found.push({ same: isSilent('acme', 'until 2099'), renewed: isSilent('globex', `until ${2099 + found.length}`) })
    return 0
  }

  await lookUntil(() => found.length >= 6, freeJobs)

  expect(found.slice(0, 6).map(({ same }) => same)).toEqual([false, false, false, false, true, true])
  expect(found.some(({ renewed }) => renewed)).toBe(false)
})

test('looks that fail half-way say nothing about how long a lock was not renewed: they follow each other at once', async () => {
  const found: boolean[] = []
  const freeJobs: FreeJobs = async (_queue, { isSilent }) => {
    found.push(isSilent('acme', 'until 2099'))
    throw new Error('the queue refuses')
  }

  await lookUntil(() => found.length >= 8, freeJobs)

  expect(found).not.toContain(true)
})

test('a worker looks soon after its start, then at its interval, and not while it is paused or once it closes', async () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  let [looks, isPaused, close] = [0, false, () => {}]
  const worker = {
    ...{
      id: '1',
      name: 'sync',
      isRunning: () => true,
      isPaused: () => isPaused,
      startStalledCheckTimer: async () => {},
    },
    on: (_event: 'closing', listener: () => void) => (close = listener),
  }
  const freeJobs: FreeJobs = async () => {
    looks += 1
    if (looks === 3) close()
    return 0
  }
  takeOverLeftJobs(worker, { freeJobs }, { leftJobsMs: 3000, lockMs: 60_000 })
  const looksAfter = async (ms: number) => {
    await vi.advanceTimersByTimeAsync(ms)
    return looks
  }

  expect(await looksAfter(250)).toBe(1)
  expect(await looksAfter(2999)).toBe(1)
  expect(await looksAfter(1)).toBe(2)
  isPaused = true
  expect(await looksAfter(30_000)).toBe(2)
  isPaused = false
  expect(await looksAfter(3000)).toBe(3)
  expect(await looksAfter(30_000)).toBe(3)
})

/** Looks for jobs that were left as a running worker does, every 10 ms, with locks of 20 ms, until `isEnough`. */
async function lookUntil(isEnough: () => boolean, freeJobs: FreeJobs): Promise<void> {
  let close = () => {}
  const worker = {
    ...{ id: '1', name: 'sync', isRunning: () => true, isPaused: () => false, startStalledCheckTimer: async () => {} },
    on: (_event: 'closing', listener: () => void) => (close = listener),
  }
  takeOverLeftJobs(worker, { freeJobs }, { leftJobsMs: 10, lockMs: 20 })
  await eventually(isEnough, Boolean)
  close()
}
