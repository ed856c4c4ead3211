import { hostname } from 'node:os'
import { pid } from 'node:process'
import { expect, test } from 'vitest'
import { pause } from '../../jobs/pauses.ts'
import { queueCommand, queueText } from '../../src/cli/queue.ts'
import { aGate } from '../support/gate.ts'
import { aJobsWorkplace, isEmbedded, someQueues } from '../support/jobs-workplace.ts'
import { runCommand } from '../support/run-command.ts'
import { startWorker } from '../support/worker-log.ts'
import { aSandbox, organizationsOf } from '../support/workplace.ts'

const MOMENT = expect.stringMatching(/^\d{4}-\d\d-\d\dT/)

test('queue shows what waits, and that nothing does', async () => {
  const place = aJobsWorkplace(organizationsOf(await aSandbox({ customers: [3, 2] })))
  const empty = await runCommand(queueCommand, ['--config', place.config])
  const { queues, close } = await someQueues(place.queue, place.mirror)
  await queues.request('sync', 'acme', 'manual')
  await queues.request('sync', 'globex', 'schedule', { dueMs: Date.now() })
  await queues.request('quick', 'globex', 'schedule')
  await close()
  const { code, stdout } = await runCommand(queueCommand, ['--json', '--config', place.config])

  expect(empty).toMatchObject({ code: 0, stdout: 'Nothing runs, and nothing waits in the queue.\n' })
  expect(code).toBe(0)
  const job = {
    since: MOMENT,
    until: null,
    why: null,
    status: null,
    attempt: null,
    failures: 0,
    percent: null,
    worker: null,
  }
  expect(JSON.parse(stdout)).toEqual({
    schemaVersion: 1,
    queue: expect.any(String),
    jobs: [
      { ...job, organization: 'acme', kind: 'full', state: 'waiting', trigger: 'manual' },
      { ...job, organization: 'globex', kind: 'full', state: 'waiting', trigger: 'schedule' },
      { ...job, organization: 'globex', kind: 'quick', state: 'waiting', trigger: 'schedule' },
    ],
    paused: [],
  })
})

test('a job of another program shows nothing that a terminal would act on', async () => {
  const place = aJobsWorkplace(organizationsOf(await aSandbox({ customers: [3] })))
  const { queues, close } = await someQueues(place.queue, place.mirror)
  await queues.sync.add('manual', { organization: 'acme\u001b[2J' })
  await queues.sync.add('manual', JSON.parse('{"other": true}'))
  await close()
  const { code, stdout } = await runCommand(queueCommand, ['--config', place.config])

  expect(code).toBe(0)
  expect(stdout).not.toContain('\u001b')
  expect(stdout).toContain('acme\\u001b[2J')
  expect(stdout).toMatch(/^\W*\? /m)
})

if (!isEmbedded) {
  test('queue shows who runs and how far it is, what is paused, and when a failed job is tried again', async () => {
    const gate = aGate({ key: () => sandbox.organizations[0]?.apiKey ?? '', fromPage: 3 })
    const sandbox = await aSandbox({ customers: [500, 3, 3], intercept: gate.intercept })
    const [acme, globex, initech] = organizationsOf(sandbox, { concurrency: 1, scan: 'chain' })
    const place = aJobsWorkplace([acme!, globex!, { ...initech!, baseUrl: 'http://127.0.0.1:1/api/v1', maxWait: '0s' }])
    const { backend } = await someQueues(place.queue, place.mirror)
    await pause(backend.values, ['globex'], { nowMs: Date.now(), untilMs: undefined })
    const worker = startWorker(place, { timings: { firstRetryMs: 3_000_000, longestRetryMs: 9_000_000 } })
    await gate.reached
    await worker.said(({ msg }) => msg === 'run put off')
    await worker.ran('initech', 'retry')
    const { jobs, paused } = await jobsOf(place.config, 3)
    gate.open()

    expect(jobs).toMatchObject([
      {
        organization: 'acme',
        state: 'running',
        worker: { host: hostname(), process: pid },
        percent: expect.any(Number),
      },
      { organization: 'globex', state: 'delayed', why: 'pause', until: null },
      { organization: 'initech', state: 'delayed', why: 'outage', attempt: 2, failures: 1, until: MOMENT },
    ])
    expect(paused).toEqual([{ organization: 'globex', since: MOMENT, until: null, resumed: [] }])
  })
}

async function jobsOf(config: string, count: number): Promise<{ jobs: Record<string, unknown>[]; paused: unknown }> {
  for (;;) {
    const { stdout } = await runCommand(queueCommand, ['--json', '--config', config])
    const shown = JSON.parse(stdout)
    const delayed = shown.jobs.filter(({ state }: { state: string }) => state === 'delayed').length
    if (delayed === count - 1) return { ...shown, jobs: shown.jobs.toSorted(byOrganization) }
  }
}

function byOrganization(left: Record<string, unknown>, right: Record<string, unknown>): number {
  return String(left['organization']) < String(right['organization']) ? -1 : 1
}

test('the table fits into eighty columns', () => {
  const nowMs = Date.UTC(2026, 10, 22, 12)
  const job = {
    kind: 'sync' as const,
    trigger: 'schedule',
    failures: 0,
    percent: undefined,
    wait: undefined,
    worker: undefined,
  }
  const text = queueText(
    {
      lines: [
        {
          ...job,
          organization: 'acme',
          state: 'running',
          sinceMs: nowMs,
          percent: 34,
          worker: 'host.example/pid:[1]#4711#9#b',
        },
        {
          ...job,
          organization: 'umbrella',
          state: 'delayed',
          wait: { why: 'pause', untilMs: nowMs + 86_400_000 },
          sinceMs: nowMs,
        },
        {
          ...job,
          organization: 'globex',
          state: 'delayed',
          wait: { why: 'outage', status: 503, attempt: 3, untilMs: nowMs + 60_000 },
          sinceMs: nowMs,
          failures: 2,
        },
      ],
      paused: [{ name: '*', untilMs: undefined, resumed: [] }],
    },
    { nowMs, screen: undefined },
  )

  expect(text.split('\n')).toEqual([
    'organization  run   state         when (UTC)',
    'acme          full  running 34 %  since 12:00:00          process 4711 on host.example',
    'umbrella      full  delayed       until 2026-11-23 12:00  paused',
    'globex        full  delayed       until 12:01:00          the service answers 503; attempt 3; next in 1 min',
    'all organizations: paused until resumed: customer-mirror resume',
    '',
  ])
})
