import { expect, test } from 'vitest'
import { generateCustomers } from '../../../src/service/customers.ts'
import { aGate } from '../../support/gate.ts'
import { aJobsWorkplace, FAR_AWAY, isEmbedded, someQueues } from '../../support/jobs-workplace.ts'
import { rowsOf, valueOf } from '../../support/mirror-file.ts'
import { runCli } from '../../support/run-cli.ts'
import { message, startWorker } from '../../support/worker-log.ts'
import { aSandbox, organizationsOf } from '../../support/workplace.ts'

// Other processes cannot add jobs to the embedded queue.
if (!isEmbedded) {
  test('a worker makes the quick run that a person asks for, and counts it apart', async () => {
    const { sandbox, place, worker } = await aQuickWorker()
    for (const customer of generateCustomers({ seed: 'came', count: 3 })) sandbox.organization('acme').insert(customer)

    const asked = await runCli(['run', 'acme', '--quick', '--config', place.config], { cwd: place.folder })
    const { report } = await worker.said(message('quick run complete'))
    const { http } = await worker.said(message('worker started'))
    const metrics = (await (await fetch(`${http}/metrics`)).text()).split('\n')

    expect(asked).toMatchObject({ code: 0, stdout: 'acme: quick run queued\n' })
    expect(report).toMatchObject({ status: 'partial', trigger: 'manual', inserted: 3 })
    expect(metrics).toEqual(
      expect.arrayContaining([
        'customer_mirror_runs_total{organization="acme",outcome="complete"} 1',
        'customer_mirror_quick_runs_total{outcome="partial"} 1',
        'customer_mirror_quick_runs_total{outcome="failed"} 0',
        'customer_mirror_customers_total{change="inserted"} 303',
        'customer_mirror_run_duration_seconds_count 1',
      ]),
    )
  })

  test('a full run that is asked for while a quick run is under way follows it, and is no retry', async () => {
    const gate = aGate()
    let isClosed = false
    const { place, worker } = await aQuickWorker((context, next) => (isClosed ? gate.intercept(context, next) : next()))
    const { queues } = await someQueues(place.queue, place.mirror)
    isClosed = true
    await queues.request('quick', 'acme', 'manual')
    await gate.reached
    const twice = await runCli(['run', 'acme', '--quick', '--config', place.config], { cwd: place.folder })
    const full = await runCli(['run', 'acme', '--config', place.config], { cwd: place.folder })
    await worker.ran('acme', 'wait')
    const third = await runCli(['run', 'acme', '--quick', '--config', place.config], { cwd: place.folder })
    isClosed = false
    gate.open()
    await worker.said(({ report }) => report?.['trigger'] === 'manual' && report['status'] === 'complete')

    expect(twice.stdout).toBe('acme: has a run at this moment\n')
    expect(full.stdout).toBe('acme: queued\n')
    expect(third.stdout).toBe('acme: its whole list is being read, or is about to be; no quick run was added\n')
    expect(rowsOf(place.mirror, 'SELECT "trigger", status FROM runs ORDER BY id')).toEqual([
      { trigger: 'catch-up', status: 'complete' },
      { trigger: 'manual', status: 'partial' },
      { trigger: 'manual', status: 'complete' },
    ])
    expect(worker.lines.join('\n')).not.toMatch(/"kind":"(retry|give-up)"/)
    expect(valueOf(place.mirror, 'SELECT count(*) FROM leases')).toBe(0)
  })
}

test('a worker stops at once while a quick run is under way, and the next one makes it', async () => {
  const gate = aGate()
  let isClosed = false
  const {
    sandbox,
    place,
    worker: first,
  } = await aQuickWorker((context, next) => (isClosed ? gate.intercept(context, next) : next()), {
    schedule: { ...FAR_AWAY, quick: FAR_AWAY.cron.replace(/^30/, '40') },
  })
  await first.stop()
  await dueQuickRun(place)
  isClosed = true
  const worker = startWorker(place)
  await gate.reached
  isClosed = false
  const stopping = worker.stop()
  gate.open()
  await stopping

  const stopped = await worker.said(message('worker stopped'))
  const { queues } = await someQueues(place.queue, place.mirror)
  expect(stopped).toMatchObject({ inOrder: true })
  expect(await queues.quick.getJobCountByTypes('waiting')).toBe(1)
  expect(await queues.sync.getJobCountByTypes('waiting', 'active', 'delayed')).toBe(0)
  expect(sandbox.organization('acme').customers).toHaveLength(300)
})

/** Adds the job that a worker adds when a quick run is due. An embedded queue is open in one place at a time: no worker may run. */
async function dueQuickRun({ queue, mirror }: { queue: string; mirror: string }): Promise<void> {
  const { queues, close } = await someQueues(queue, mirror)
  await queues.request('quick', 'acme', 'schedule', { dueMs: Date.now() })
  await close()
}

/** A worker whose organization was read to the end. */
async function aQuickWorker(
  intercept: ReturnType<typeof aGate>['intercept'] = (_context, next) => next(),
  settings: { schedule?: object } = {},
) {
  const sandbox = await aSandbox({ customers: [300], intercept })
  const place = aJobsWorkplace(organizationsOf(sandbox, { scan: 'chain' }), settings)
  const worker = startWorker(place)
  await worker.ran('acme')
  return { sandbox, place, worker }
}
