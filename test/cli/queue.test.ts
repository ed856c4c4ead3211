import { hostname } from 'node:os'
import { pid } from 'node:process'
import { expect, test } from 'vitest'
import { pause } from '../../jobs/pauses.ts'
import { pauseCommand, queueCommand, resumeCommand, scheduleCommand } from '../../src/cli/queue.ts'
import { runCommand as runOfWorker } from '../../src/cli/queue.ts'
import { statusCommand } from '../../src/cli/status.ts'
import { syncCommand } from '../../src/cli/sync.ts'
import { aGate } from '../support/gate.ts'
import { aJobsWorkplace, isEmbedded, someQueues } from '../support/jobs-workplace.ts'
import { aMirrorOfFive } from '../support/mirror-file.ts'
import { runCli } from '../support/run-cli.ts'
import { runCommand } from '../support/run-command.ts'
import { startWorker } from '../support/worker-log.ts'
import { aSandbox, aWorkplace, organizationsOf } from '../support/workplace.ts'

const MOMENT = expect.stringMatching(/^\d{4}-\d\d-\d\dT/)

/** A folder with a configuration whose queue no other test sees; `ask` runs a command there, without its moments. */
async function aPlace() {
  const place = aJobsWorkplace(organizationsOf(await aSandbox({ customers: [3, 2] })))
  const ask = async (command: Parameters<typeof runCommand>[0], ...args: string[]) => {
    const { code, ...said } = await runCommand(command, [...args, '--config', place.config])
    const [stdout, stderr] = [said.stdout, said.stderr].map((text) =>
      text.replaceAll(/\d{4}-\d\d-\d\d \d\d:\d\d UTC/g, 'MOMENT'),
    )
    return { code, stdout: stdout ?? '', stderr: stderr ?? '' }
  }
  return { ...place, ask }
}

test('queue shows what waits, and that nothing does; a job of another program shows nothing that a terminal would act on', async () => {
  const { ask, ...place } = await aPlace()
  const empty = await ask(queueCommand)
  // An embedded queue is open in one program at a time.
  const { queues, close } = await someQueues(place.queue, place.mirror)
  await queues.request('sync', 'acme', 'manual')
  await queues.request('sync', 'globex', 'schedule', { dueMs: Date.now() })
  await queues.request('quick', 'globex', 'schedule')
  await close()
  const { code, stdout } = await ask(queueCommand, '--json')
  const again = await someQueues(place.queue, place.mirror)
  await again.queues.sync.add('manual', { organization: 'acme\u001b[2J' })
  await again.queues.sync.add('manual', JSON.parse('{"other": true}'))
  await again.close()
  const table = await ask(queueCommand)

  expect(empty.code).toBe(0)
  expect(code).toBe(0)
  const job = {
    ...{ state: 'waiting', since: MOMENT, until: null, why: null, status: null, attempt: null },
    ...{ failures: 0, percent: null, worker: null },
  }
  expect(JSON.parse(stdout)).toEqual({
    schemaVersion: 1,
    queue: expect.any(String),
    jobs: [
      { ...job, organization: 'acme', kind: 'full', trigger: 'manual' },
      { ...job, organization: 'globex', kind: 'full', trigger: 'schedule' },
      { ...job, organization: 'globex', kind: 'quick', trigger: 'schedule' },
    ],
    paused: [],
  })
  expect(table).toMatchObject({ code: 0, stdout: expect.not.stringContaining('\u001b') })
  expect(table.stdout).toContain('acme\\u001b[2J')
})

test('pause and resume say what they did, and queue names the organizations that were resumed alone', async () => {
  const { ask } = await aPlace()
  for (const [command, args, said] of [
    [resumeCommand, [], 'Nothing was paused.\n'],
    [resumeCommand, ['acme'], 'acme: was not paused\n'],
    [pauseCommand, ['acme'], 'acme: paused until resumed\n'],
    [pauseCommand, ['acme', '--until', '2999-01-01'], 'acme: paused already, since MOMENT; now until MOMENT\n'],
    [pauseCommand, [], 'all organizations: paused until resumed\n'],
    [resumeCommand, ['globex'], 'globex: resumed, paused since MOMENT\n'],
  ] as const)
    expect(await ask(command, ...args)).toEqual({ code: 0, stdout: said, stderr: '' })

  const { paused } = JSON.parse((await ask(queueCommand, '--json')).stdout)
  expect(paused).toContainEqual({ organization: null, since: MOMENT, until: null, resumed: ['globex'] })
  expect(await ask(resumeCommand)).toMatchObject({ code: 0 })
  expect(JSON.parse((await ask(queueCommand, '--json')).stdout).paused).toEqual([])
})

test.each([
  [{}, { code: 2, stderr: expect.stringContaining('There is no queue') }],
  [{ queue: 'redis://127.0.0.1:1' }, { code: 5, stderr: expect.stringContaining('cannot be used') }],
])('with the queue %j pause says so, and status does not mind', async (settings, refused) => {
  const { config } = aWorkplace(organizationsOf(await aSandbox({ customers: [3] })), settings)
  await runCommand(syncCommand, ['--config', config])
  const { code, stdout, stderr } = await runCommand(statusCommand, ['--json', '--config', config])

  expect(await runCommand(pauseCommand, ['--config', config])).toMatchObject(refused)
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(JSON.parse(stdout).organizations).toMatchObject([{ organization: 'acme', paused: null, why: ['plain-scan'] }])
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
    await worker.ran('initech', 'retry')
    let shown: { jobs: { organization: string; state: string }[]; paused: unknown } = { jobs: [], paused: [] }
    const countDelayed = async () => {
      shown = JSON.parse((await runCommand(queueCommand, ['--json', '--config', place.config])).stdout)
      return shown.jobs.filter(({ state }) => state === 'delayed').length
    }
    await expect.poll(countDelayed).toBe(1)
    const { jobs, paused } = shown
    gate.open()

    const byOrganization = new Map(jobs.map((job) => [job.organization, job]))
    const worksHere = { host: hostname(), process: pid }
    expect(byOrganization.get('acme')).toMatchObject({
      ...{ state: 'running', worker: worksHere, percent: expect.any(Number) },
    })
    expect(byOrganization.has('globex')).toBe(false)
    expect(byOrganization.get('initech')).toMatchObject({
      ...{ state: 'delayed', why: 'outage', attempt: 2, failures: 1, until: MOMENT },
    })
    expect(paused).toEqual([{ organization: 'globex', since: MOMENT, until: null, resumed: [] }])
  })
}

const SCHEDULE = { cron: '30 2 * * *', timezone: 'Europe/Paris' }

type Moment = { at: string; local: string }
type Shown = { organization: string; dueNow: boolean; runs: Moment[]; quick: { runs: Moment[] } | null }

async function listed(config: string, ...args: string[]): Promise<Shown[]> {
  const { stdout } = await runCommand(scheduleCommand, ['--json', '--config', config, ...args])
  return JSON.parse(stdout).organizations
}

test('the coming runs are shown in local time and in UTC, with the organizations due now', async () => {
  const [acme, globex, initech] = organizationsOf(await aSandbox({ customers: [10, 10, 10] }))
  const own = [acme!, { ...globex!, schedule: { timezone: 'Asia/Kolkata' } }, initech!]
  const { folder, config } = aWorkplace(own, { schedule: SCHEDULE })
  await runCli(['sync', 'acme', 'globex'], { cwd: folder })
  const [paris, kolkata, due] = await listed(config, '--next', '220')

  expect([paris, kolkata, due].map((each) => each?.dueNow)).toEqual([false, false, true])
  expect(paris?.runs).toHaveLength(220)
  // Longer than summer time lasts.
  expect(new Set(paris?.runs.map(({ local }) => local.slice(17)))).toEqual(new Set(['GMT+1', 'GMT+2']))
  for (const { at, local } of kolkata?.runs ?? []) {
    expect(at).toMatch(/T21:00:00.000Z$/)
    expect(local).toContain(' 02:30 GMT+5:30')
  }
})

test('quick runs are shown apart from the nights, each at the same moment of its quarter of an hour; never is none', async () => {
  const [acme, globex] = organizationsOf(await aSandbox({ customers: [1, 1] }))
  const { config } = aWorkplace([acme!, { ...globex!, schedule: { quick: 'never' } }], {
    schedule: { cron: '30 2 * * *', timezone: 'UTC', quick: '*/15 * * * *', spread: '1h' },
  })
  const [first, second] = await listed(config, '--next', '8')
  const timesMs = first?.quick?.runs.map(({ at }) => Date.parse(at)) ?? []

  expect(first).toMatchObject({ cron: SCHEDULE.cron, runs: { length: 8 }, quick: { cron: '*/15 * * * *' } })
  expect(timesMs.map((ms) => ms - (timesMs[0] ?? 0))).toEqual([0, 1, 2, 3, 4, 5, 6, 7].map((run) => run * 900_000))
  expect(second?.quick).toBeNull()
})

if (!isEmbedded) {
  test('a paused organization is shown as paused by schedule and status, with its runs after the pause, and run asks for none', async () => {
    const { config, mirror } = aJobsWorkplace(organizationsOf(await aSandbox({ customers: [1, 1, 1] })), {
      schedule: { cron: '0 6 * * *', timezone: 'UTC', quick: '*/15 * * * *' },
    })
    await aMirrorOfFive(mirror)
    await runCommand(pauseCommand, ['acme', '--until', '2999-12-24 05:30', '--config', config])
    await runCommand(pauseCommand, ['globex', '--config', config])
    const standing = await runCommand(statusCommand, ['--json', '--config', config])
    const asked = await runCommand(runOfWorker, ['acme', 'initech', '--config', config])

    const until = '2999-12-24T05:30:00.000Z'
    expect(await listed(config, '--next', '2')).toMatchObject([
      { dueNow: false, paused: { until }, runs: [{ at: until }, {}] },
      { dueNow: false, paused: { until: null }, runs: [], quick: { runs: [] } },
      { dueNow: true, paused: null, runs: { length: 2 } },
    ])
    expect(JSON.parse(standing.stdout).organizations).toMatchObject([
      { organization: 'acme', why: expect.arrayContaining(['paused']), paused: { until } },
      { organization: 'globex', paused: { until: null } },
      { organization: 'initech', paused: null },
    ])
    expect(asked).toMatchObject({
      code: 5,
      stdout: expect.stringMatching(/^acme: .* customer-mirror resume acme --config .*\ninitech: queued\n$/),
    })
  })
}
