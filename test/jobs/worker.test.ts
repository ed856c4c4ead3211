import { expect, test } from 'vitest'
import { PROGRAM_VERSION } from '../../src/machine/version.ts'
import type { SandboxOptions } from '../../src/service/sandbox.ts'
import { stoppedWithinMs } from '../support/eventually.ts'
import { aGate } from '../support/workplace.ts'
import { isEmbedded, someQueues } from '../support/jobs-workplace.ts'
import { rowsOf, valueOf } from '../support/mirror-file.ts'
import { message, aWorkerOf } from '../support/worker-log.ts'

test('a worker mirrors every organization that was never mirrored, stops when it is asked to, and keeps no secret and no customer in the queue or the log', async () => {
  const { sandbox, place, worker } = await aWorkerOf({ customers: [250, 40, 3] })
  for (const { id } of sandbox.organizations) await worker.ran(id)
  const askedAtMs = performance.now()
  await worker.stop()

  expect(performance.now() - askedAtMs).toBeLessThan(stoppedWithinMs())
  const { queues } = await someQueues(place.queue, place.mirror)
  const jobs = await queues.sync.getJobs()
  expect(jobs.map(({ data }) => data).find(({ organization }) => organization === 'acme')).toEqual({
    ...{ organization: 'acme', dueMs: expect.any(Number), version: PROGRAM_VERSION },
  })
  const kept = JSON.stringify([jobs, worker.lines])
  for (const { apiKey, secret, customers } of sandbox.organizations)
    for (const secrets of [apiKey, secret, customers[0]?.email]) expect(kept).not.toContain(secrets)
  const mirrored = rowsOf(place.mirror, 'SELECT organization, count(*) FROM customers GROUP BY 1')
  expect(mirrored.map((row) => Object.values(row).join(' '))).toEqual(['acme 250', 'globex 40', 'initech 3'])
  const runs = rowsOf(place.mirror, 'SELECT DISTINCT "trigger", status FROM runs')
  expect(runs).toEqual([{ trigger: 'catch-up', status: 'complete' }])
})

test('SIGTERM while pages come ends the run after one, and puts its job back', async () => {
  const gate = aGate({ fromPage: 3 })
  const options = { customers: [2000], latencyMs: 60, intercept: gate.intercept }
  const { place, worker } = await aWorkerOf(options, { each: { concurrency: 1 } })
  await gate.reached
  void worker.stop()
  gate.open()
  const stopped = await worker.said(message('worker stopped'))
  await worker.stop()

  const { queues } = await someQueues(place.queue, place.mirror)
  expect(stopped).toMatchObject({ inOrder: true })
  const runs = rowsOf(place.mirror, 'SELECT status, received % 100 AS part FROM runs')
  expect(runs).toEqual([{ status: 'interrupted', part: 0 }])
  expect(await queues.sync.getWaiting()).toMatchObject([{ data: { organization: 'acme' }, attemptsMade: 0 }])
})

test('a 90-second Retry-After holds back one organization, uses none of its attempts, and is kept where a person asks for a run', async () => {
  const rateLimits = [{ organization: 'globex', requests: 2, windowMs: 90_000 }]
  const { place, worker } = await aWorkerOf({ customers: [50, 500, 40], rateLimits })
  const [waits] = await Promise.all([worker.ran('globex', 'wait'), worker.ran('acme'), worker.ran('initech')])
  await worker.stop()

  const { queues } = await someQueues(place.queue, place.mirror)
  const delayed = [{ data: { organization: 'globex' }, attemptsMade: 0 }]
  await expect.poll(() => queues.sync.getDelayed()).toMatchObject(delayed)
  expect(waits.verdict).toMatchObject({ waitMs: expect.toSatisfy((ms: number) => ms > 45_000 && ms < 95_000) })
  expect(waits.report).toMatchObject({ status: 'waiting', reasons: ['waiting'], error: { code: 'rate-limited' } })
  expect(rowsOf(place.mirror, `SELECT status, error_code, reasons FROM runs WHERE organization = 'globex'`)).toEqual([
    { status: 'waiting', error_code: 'rate-limited', reasons: '["waiting"]' },
  ])
  expect(valueOf(place.mirror, `SELECT last_status FROM freshness WHERE organization = 'globex'`)).toBe('waiting')
  if (isEmbedded) return
  const said = /^globex: has a job that starts by itself at 20\d\d-\S+ [\d:]{8} UTC: until then, its service asked/
  expect(await place.run('run globex')).toMatchObject({ code: 5, stdout: expect.stringMatching(said) })
  expect(await queues.sync.getJobCountByTypes('delayed')).toBe(1)
})

test('a service that fails is tried again, one that refuses is not', async () => {
  let failures = 2
  const { sandbox, place, worker } = await aWorkerOf({
    customers: [20, 20],
    forbidden: ['globex'],
    intercept: async (context, next) => {
      const isAcme = context.req.header('X-API-Key') === sandbox.organizations[0]?.apiKey
      if (isAcme && failures > 0) {
        failures -= 1
        return new Response('<h1>down</h1>', { status: 200, headers: { 'Content-Type': 'text/html' } })
      }
      return next()
    },
  })
  const [retried] = await Promise.all([worker.ran('acme', 'retry'), worker.ran('globex', 'give-up')])
  await worker.ran('acme')
  await worker.stop()

  expect(retried).toMatchObject({ msg: 'run failed, retry follows', isLast: false })
  const runs = rowsOf(place.mirror, `SELECT status FROM runs WHERE organization = 'acme' ORDER BY id`)
  expect(runs.map(({ status }) => status)).toEqual(['failed', 'failed', 'complete'])
  expect(valueOf(place.mirror, `SELECT count(*) FROM runs WHERE organization = 'globex'`)).toBe(1)
  const { queues } = await someQueues(place.queue, place.mirror)
  expect(await queues.stateOf('sync', 'globex')).toBeUndefined()
})

test.each([1, 4])('as many organizations are mirrored at once as jobs.concurrency says: %i', async (concurrency) => {
  let most = 0
  const asking = new Set<string>()
  const intercept: SandboxOptions['intercept'] = async (context, next) => {
    const key = context.req.header('X-API-Key') ?? ''
    most = Math.max(most, asking.add(key).size)
    // With fewer at the same time, none of them would ever be answered.
    await expect.poll(() => most).toBe(concurrency)
    await next()
    asking.delete(key)
  }
  const settings = { each: { concurrency: 1 }, jobs: { concurrency } }
  const { sandbox, worker } = await aWorkerOf({ customers: [5, 5, 5, 5], intercept }, settings)
  for (const { id } of sandbox.organizations) await worker.ran(id)

  expect(most).toBe(concurrency)
})
