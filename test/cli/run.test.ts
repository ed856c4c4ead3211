import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { cancellations } from '../../jobs/cancel.ts'
import { putOff } from '../../jobs/queue/queues.ts'
import { openMirror } from '../../src/store/mirror.ts'
import { HOUR_MS } from '../support/builders.ts'
import { written } from '../support/commands.ts'
import { FAR_AWAY, aJobsWorkplace, isEmbedded, someQueues, takeNext } from '../support/jobs-workplace.ts'
import { aGate, aSandbox, aWorkplace, organizationsOf } from '../support/workplace.ts'
import { rowsOf, valueOf } from '../support/mirror-file.ts'
import { failing } from '../support/run-cli.ts'
import { message, startWorker } from '../support/worker-log.ts'

test.skipIf(isEmbedded)('cancel ends a run after its page, and the next run alone continues it', async () => {
  const gate = aGate({ fromPage: 3 })
  let isSlow = true
  const sandbox = await aSandbox({
    customers: [3000],
    intercept: async (context, next) => {
      await gate.intercept(context, async () => {})
      if (isSlow) await sleep(100)
      await next()
    },
  })
  const place = aJobsWorkplace(organizationsOf(sandbox, { concurrency: 1, scan: 'chain' }))
  const { backend, queues } = await someQueues(place.queue, place.mirror)
  const worker = startWorker(place)
  await gate.reached

  const without = written(`${place.config}.new`, readFileSync(place.config, 'utf8').replace('id: acme', 'id: globex'))
  const cancelling = place.run(`cancel acme --config ${without}`)
  await expect.poll(async () => (await cancellations.list(backend.values)).has('acme')).toBe(true)
  gate.open()
  const cancelled = await cancelling
  isSlow = false
  await worker.stop()
  const next = startWorker(place)
  await next.said(message('worker started'))
  const jobs = await queues.sync.getJobCountByTypes('waiting', 'active', 'delayed')
  const again = await place.run('run acme')
  await next.ran('acme')

  expect(cancelled).toMatchObject({ code: 0, stdout: expect.stringContaining('acme: cancelled. Its run ended') })
  expect(worker.lines.join('\n')).toContain('run cancelled')
  expect(jobs).toBe(0)
  expect(again).toMatchObject({ code: 0, stdout: 'acme: queued\n' })
  expect(rowsOf(place.mirror, 'SELECT status, error_code, resumed_from FROM runs ORDER BY id')).toEqual([
    { status: 'failed', error_code: 'cancelled', resumed_from: null },
    { status: 'complete', error_code: null, resumed_from: 1 },
  ])
  expect(valueOf(place.mirror, 'SELECT count(*) FROM customers')).toBe(3000)
})

test.skipIf(isEmbedded)('cancel takes a waiting job for good, and ends no later run', async () => {
  const { place, queues, backend } = await aPlace()
  const nothing = expect.stringContaining('nothing is under')
  expect(await place.run('cancel acme')).toMatchObject({ code: 0, stdout: nothing })
  expect((await cancellations.list(backend.values)).size).toBe(0)
  const dueMs = Date.now()
  await queues.request('sync', 'acme', 'schedule', { dueMs })
  await queues.request('quick', 'acme', 'schedule', { dueMs })
  const { code, stdout } = await place.run('cancel acme')
  const untilMs = (await cancellations.list(backend.values)).get('acme')?.untilMs

  expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('acme: cancelled. Its job was') })
  expect(await queues.sync.getJobCountByTypes('waiting', 'delayed')).toBe(0)
  expect(await queues.quick.getJobCountByTypes('waiting', 'delayed')).toBe(0)
  expect(untilMs).toBeGreaterThanOrEqual(dueMs)
  await queues.request('sync', 'acme', 'manual')
  await startWorker(place).ran('acme')
  const runs = rowsOf(place.mirror, 'SELECT "trigger", status FROM runs')
  expect(runs).toEqual([{ trigger: 'manual', status: 'complete' }])
})

test('a job that was put off by a clock that was hours ahead is started once that was set back', async () => {
  const { queues, backend } = await aPlace()
  await queues.request('sync', 'acme', 'manual')
  let starts = 0
  await takeNext(backend, (job) => {
    starts += 1
    return putOff(job, Date.now() + HOUR_MS)
  })
  const again = (nowMs: number) => queues.request('sync', 'acme', 'schedule', { nowMs })

  expect(await again(Date.now())).toBe('delayed')
  expect(await again(Date.now() - 9 * HOUR_MS)).toBe('waiting')
  await expect.poll(() => starts).toBe(2)
})

test.skipIf(isEmbedded)('cancel says that a worker does not answer, and stays asked for', async () => {
  const { place, queues, backend } = await aPlace()
  await queues.request('sync', 'acme', 'manual')
  const ended = Promise.withResolvers<object>()
  const taken = Promise.withResolvers<void>()
  void takeNext(backend, async () => {
    taken.resolve()
    return ended.promise
  })
  await taken.promise
  const stop = new AbortController()
  const done = place.run('cancel acme', { signal: stop.signal }).finally(() => ended.resolve({}))
  await expect.poll(async () => (await cancellations.list(backend.values)).has('acme')).toBe(true)
  // Ctrl-C ends the wait as its limit does.
  stop.abort()

  expect(await done).toMatchObject({ code: 5, stdout: expect.stringContaining('has not ended it yet') })
  expect((await cancellations.list(backend.values)).get('acme')?.jobs).toHaveLength(1)
})

test.skipIf(isEmbedded)('cancel names the process of a sync in a terminal, which it does not end', async () => {
  const { place } = await aPlace()
  const mirror = await openMirror(place.mirror)
  onTestFinished(() => mirror.close())
  await mirror.startRun({ organization: 'acme', trigger: 'sync', nowMs: Date.now() })

  const { code, stdout } = await place.run('cancel acme')
  expect(code).toBe(6)
  expect(stdout).toMatch(/^acme: run 1 is under way in process \d+ on \S+, and is no job .*Ctrl-C there/)
  expect(stdout).toContain(` ${process.pid} `)
})

const ONE = { customers: [1] }

test.each<[line: string, settings: object, code: number, said: RegExp]>([
  ['run acme', { queue: 'embedded' }, 2, /customer-mirror sync/],
  ['worker', {}, 2, /queue: redis:\/\/127\.0\.0\.1:6379/],
  ['worker --embedded', { schedule: { ...FAR_AWAY, cron: '0 2 31 2 *' } }, 2, /schedule\.cron.* names no moment/],
  ['check', { schedule: { ...FAR_AWAY, quick: '0 0 31 2 *' } }, 2, /:\d+:\d+.*schedule\.quick.* names no moment/],
  ['worker --embedded --allow-host http://x', {}, 2, /--allow-host http:\/\/x: this is no name of a host/],
])('%s with %j ends with %i, and says what to do', async (line, settings, code, said) => {
  const { run } = aWorkplace(organizationsOf(await aSandbox(ONE)), settings)

  expect(await run(line)).toMatchObject({ code, stderr: expect.stringMatching(said) })
})

test('the password of a queue in the environment is not repeated; an embedded queue cannot be asked to cancel', async () => {
  const place = aWorkplace(organizationsOf(await aSandbox(ONE)), { queue: 'embedded' })
  const env = { CUSTOMER_MIRROR_QUEUE: 'redis://:made-up-password@127.0.0.1:1' }
  const { code, stderr } = await place.run('run acme', { env })

  expect({ code, stderr }).toEqual({ code: 5, stderr: expect.not.stringContaining('made-up-password') })
  expect(stderr).toContain('The queue at redis://127.0.0.1:1 cannot be used')
  expect(await place.run('cancel acme')).toMatchObject(failing(2, 'Stop that worker (Ctrl-C or SIGTERM)'))
})

async function aPlace() {
  const place = aJobsWorkplace(organizationsOf(await aSandbox({ customers: [3] })))
  return { place, ...(await someQueues(place.queue, place.mirror)) }
}
