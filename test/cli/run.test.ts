import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { cancellations } from '../../jobs/cancel.ts'
import { openMirror } from '../../src/store/mirror.ts'
import { untilDelayed } from '../support/commands.ts'
import { eventually } from '../support/eventually.ts'
import { FAR_AWAY, aJobsWorkplace, isEmbedded, someQueues, takeNext } from '../support/jobs-workplace.ts'
import { aGate } from '../support/gate.ts'
import { rowsOf, valueOf } from '../support/mirror-file.ts'
import { failing } from '../support/run-command.ts'
import { message, startWorker } from '../support/worker-log.ts'
import { aSandbox, aWorkplace, organizationsOf } from '../support/workplace.ts'

// Other processes cannot add to an embedded queue.
describe.skipIf(isEmbedded)('run', () => {
  test('puts one job into the queue, even if it is repeated', async () => {
    const place = aJobsWorkplace(organizationsOf(await aSandbox({ customers: [1, 1] })))
    const first = await place.run('run acme globex')
    const second = await place.run('run acme')
    const { queues } = await someQueues(place.queue, place.mirror)

    expect(first).toMatchObject({ code: 0, stdout: 'acme: queued\nglobex: queued\n' })
    expect(second).toMatchObject({ code: 0, stdout: 'acme: is queued already\n' })
    const jobs = await queues.sync.getWaiting()
    expect(jobs.map(({ name, data }) => name + data.organization).toSorted()).toEqual(['manualacme', 'manualglobex'])
  })

  test('does not start a job whose service said when to come back, and says when that is', async () => {
    const rateLimits = [{ organization: 'acme', requests: 2, windowMs: 90_000 }]
    const place = aJobsWorkplace(organizationsOf(await aSandbox({ customers: [500], rateLimits })))
    const worker = startWorker(place)
    await worker.ran('acme', 'wait')
    const { queues } = await someQueues(place.queue, place.mirror)
    await untilDelayed(queues)
    const { code, stdout } = await place.run('run acme')

    expect(code).toBe(5)
    expect(stdout).toMatch(
      /^acme: has a job that starts by itself at 20\d\d-\S+ \d\d:\d\d:\d\d UTC: until then, its service asked/,
    )
    expect(await queues.sync.getJobCountByTypes('delayed')).toBe(1)
  })
})

describe.skipIf(isEmbedded)('cancel', () => {
  test('ends a run after its page, no worker makes it again, and the next one continues from there', async () => {
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

    const cancelling = place.run('cancel acme')
    await eventually(
      () => cancellations.list(backend.values),
      (found) => found.has('acme'),
    )
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

  test('takes a job that waits out of the queue, and its due time is not made up for', async () => {
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
  })

  test('a worker that does not answer is said, and what was asked stays asked', async () => {
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
    const done = place.run('cancel acme', { signal: stop.signal })
    // Ctrl-C ends the wait as its limit does.
    stop.abort()

    expect(await done).toMatchObject({ code: 5, stdout: expect.stringContaining('has not ended it yet') })
    expect((await cancellations.list(backend.values)).get('acme')?.jobs).toHaveLength(1)
    ended.resolve({})
  })

  test('names the process of a sync in a terminal, which it does not end', async () => {
    const { place } = await aPlace()
    const mirror = await openMirror(place.mirror)
    onTestFinished(() => mirror.close())
    await mirror.startRun({ organization: 'acme', trigger: 'sync', nowMs: Date.now() })

    const { code, stdout } = await place.run('cancel acme')
    expect(code).toBe(6)
    expect(stdout).toMatch(/^acme: run 1 is under way in process \d+ on \S+, and is no job .*Ctrl-C there/)
    expect(stdout).toContain(` ${process.pid} `)
  })

  test('a cancel that was not deleted ends no later run', async () => {
    const { place, backend } = await aPlace()
    const longAgo = { jobs: ['acme.made-up'], untilMs: 0 }
    await cancellations.write(backend.values, 'acme', longAgo)
    const worker = startWorker(place)
    await worker.ran('acme')

    expect(valueOf(place.mirror, 'SELECT status FROM runs')).toBe('complete')
  })
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
