import { existsSync, renameSync, symlinkSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { oneStatement, postgresPrograms } from '../../bench/postgres-server.ts'
import { VERSION } from '../../src/store/schema/schema.ts'
import { lose } from '../support/backing-up.ts'
import { onThisMachine } from '../support/eventually.ts'
import { aSilentProxy } from '../support/fault-server.ts'
import { aGate, aSandbox, aWorkplace, organizationsOf } from '../support/workplace.ts'
import { aJobsWorkplace, aQueue, FAR_AWAY, isEmbedded, someQueues } from '../support/jobs-workplace.ts'
import { rowsOf, tamper, valueOf } from '../support/mirror-file.ts'
import { startQuickPostgres } from '../support/postgres/server.ts'
import { runCli } from '../support/run-cli.ts'
import { expectWhole, message, startWorker, startWorkerProcess, aWorkerOf } from '../support/worker-log.ts'

test('waits between pages that were saved do not add up to maxWait', async () => {
  const options = { customers: [1000], rateLimits: [{ requests: 4, windowMs: 2000 }] }
  const each = { scan: 'chain', maxWait: '3s', concurrency: 1 }
  const { place, worker } = await aWorkerOf(options, { each, timings: { longestWaitMs: 100 } })

  await worker.ran('acme', 'wait')
  await worker.ran('acme')

  expect(valueOf(place.mirror, 'SELECT count(*) FROM customers')).toBe(1000)
})

test.each<[what: string, harm: (mirror: string) => unknown, error: object]>([
  ['is deleted', lose, { code: 'replaced', message: expect.stringContaining('was deleted or moved away') }],
  ['a newer version changes', (mirror) => tamper(mirror, `PRAGMA user_version = ${VERSION + 1}`), { code: 'version' }],
])('a mirror that %s ends the worker, and a worker for which it is right makes the run', async (_what, harm, error) => {
  const gate = aGate({ fromPage: 4 })
  const sandbox = await aSandbox({ customers: [500], intercept: gate.intercept })
  const place = aJobsWorkplace(organizationsOf(sandbox, { concurrency: 1 }))
  const worker = startWorkerProcess(place)
  await gate.reached
  harm(place.mirror)
  gate.open()

  expect(await worker.said(message('worker cannot go on, and ends'))).toMatchObject({ error })
  expect(await worker.ended).toMatchObject({ code: 1, signal: null })
  if (existsSync(place.mirror)) {
    const { queues, close } = await someQueues(place.queue, place.mirror)
    expect(await queues.sync.getWaiting()).toMatchObject([{ data: { organization: 'acme' }, attemptsMade: 0 }])
    await close()
    expect(rowsOf(place.mirror, 'SELECT error_code FROM runs')).toEqual([{ error_code: 'version' }])
    tamper(place.mirror, `PRAGMA user_version = ${VERSION}`)
  }
  await startWorker(place).ran('acme')
  expectWhole(place.mirror, 500)
})

test('a worker goes on while the place of its mirror cannot be looked at', async () => {
  const { place, worker } = await aWorkerOf({ customers: [20] })
  await worker.ran('acme')
  renameSync(place.mirror, `${place.mirror}.moved`)
  symlinkSync(place.mirror, place.mirror)
  await sleep(600)
  renameSync(`${place.mirror}.moved`, place.mirror)
  await worker.stop()

  expect(worker.lines.join('\n')).not.toContain('worker cannot go on')
})

test.skipIf(postgresPrograms() === undefined)('a worker stops in 8 s as the server of its mirror hangs', async () => {
  const server = await startQuickPostgres()
  onTestFinished(() => server.close())
  const address = new URL(server.url)
  const proxy = await aSilentProxy(Number(address.port))
  const gate = aGate({ fromPage: 2 })
  const sandbox = await aSandbox({ customers: [1500], intercept: gate.intercept })
  const place = aWorkplace(organizationsOf(sandbox, { concurrency: 1 }), {
    mirror: Object.assign(address, { port: String(proxy.port) }).href,
    queue: aQueue(),
    schedule: { cron: '0 2 * * *', timezone: 'UTC' },
  })
  const worker = startWorkerProcess(place)
  await gate.reached
  proxy.silence()
  gate.open()
  worker.send('SIGTERM')
  const { code, tookMs } = await worker.ended

  expect(code).toBe(143)
  expect(tookMs).toBeLessThan(onThisMachine(8000))
})

test.skipIf(postgresPrograms() === undefined)('a worker ends once the schema of its mirror was dropped', async () => {
  const server = await startQuickPostgres()
  onTestFinished(() => server.close())
  const settings = { mirror: server.url, queue: aQueue(), schedule: FAR_AWAY }
  const place = aWorkplace(organizationsOf(await aSandbox({ customers: [3] })), settings)
  const worker = startWorkerProcess(place, { timings: { catchUpMs: 300 } })
  await worker.ran('acme')
  await oneStatement(server.url, 'DROP SCHEMA customer_mirror CASCADE')

  const ended = { error: { code: 'replaced' } }
  expect(await worker.said(message('worker cannot go on, and ends'))).toMatchObject(ended)
  expect(await worker.ended).toMatchObject({ code: 1, signal: null })
})

test.skipIf(isEmbedded)('a quick run that is asked for is counted apart, and a full one follows it', async () => {
  const gate = aGate()
  let isClosed = false
  const intercept: typeof gate.intercept = (context, next) => (isClosed ? gate.intercept(context, next) : next())
  const { place, worker } = await aWorkerOf({ customers: [300], intercept }, { each: { scan: 'chain' } })
  await worker.ran('acme')
  const asking = async (...options: string[]) =>
    (await runCli(['run', 'acme', ...options, '--config', place.config], { cwd: place.folder })).stdout
  isClosed = true
  const once = await asking('--quick')
  await gate.reached
  const twice = await asking('--quick')
  const full = await asking()
  await worker.ran('acme', 'wait')
  const third = await asking('--quick')
  isClosed = false
  gate.open()
  await worker.said(({ report }) => report?.['trigger'] === 'manual' && report['status'] === 'complete')

  const { http } = await worker.said(message('worker started'))
  const metrics = await (await fetch(`${http}/metrics`)).text()
  expect([once, twice, full, third]).toEqual([
    'acme: quick run queued\n',
    'acme: has a run at this moment\n',
    'acme: queued\n',
    'acme: its whole list is being read, or is about to be; no quick run was added\n',
  ])
  expect(metrics).toContain('customer_mirror_quick_runs_total{outcome="partial"} 1\n')
  expect(metrics).toContain('customer_mirror_runs_total{organization="acme",outcome="complete"} 2\n')
  const runs = rowsOf(place.mirror, 'SELECT "trigger", status FROM runs ORDER BY id')
  const made = runs.map((run) => Object.values(run).join())
  expect(made).toEqual(['catch-up,complete', 'manual,partial', 'manual,complete'])
  expect(worker.lines.join('\n')).not.toMatch(/"kind":"(retry|give-up)"/)
  expect(valueOf(place.mirror, 'SELECT count(*) FROM leases')).toBe(0)
})
