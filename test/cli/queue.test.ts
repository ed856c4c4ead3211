import { hostname } from 'node:os'
import { pid } from 'node:process'
import { expect, test } from 'vitest'
import { pause } from '../../jobs/pauses.ts'
import { aGate, aSandbox, aWorkplace, organizationsOf, type Workplace } from '../support/workplace.ts'
import { aJobsWorkplace, isEmbedded, someQueues } from '../support/jobs-workplace.ts'
import { aMirrorOfFive } from '../support/mirror-file.ts'
import { failing } from '../support/run-cli.ts'
import { startWorker } from '../support/worker-log.ts'

const MOMENT = expect.stringMatching(/^\d{4}-\d\d-\d\dT/)

/** A folder with a configuration whose queue no other test sees; `ask` runs a command line there, without its moments. */
async function aPlace() {
  const place = aJobsWorkplace(organizationsOf(await aSandbox({ customers: [3, 2] })))
  const ask = async (line: string) => {
    const { code, stdout, stderr } = await place.run(line)
    return { code, stderr, stdout: stdout.replaceAll(/\d{4}-\d\d-\d\d \d\d:\d\d UTC/g, 'MOMENT') }
  }
  return { ...place, ask }
}

test('queue shows what waits, and that nothing does; a job of another program shows nothing that a terminal would act on', async () => {
  const { ask, ...place } = await aPlace()
  const empty = await ask('queue')
  const { queues, close } = await someQueues(place.queue, place.mirror)
  await queues.request('sync', 'acme', 'manual')
  await queues.request('sync', 'globex', 'schedule', { dueMs: Date.now() })
  await queues.request('quick', 'globex', 'schedule')
  await close()
  const shown = await place.json('queue')
  const again = await someQueues(place.queue, place.mirror)
  await again.queues.sync.add('manual', { organization: 'acme\u001b[2J' })
  await again.queues.sync.add('manual', JSON.parse('{"other": true}'))
  await again.close()
  const table = await ask('queue')

  expect(empty.code).toBe(0)
  const job = {
    ...{ state: 'waiting', since: MOMENT, until: null, why: null, status: null, attempt: null },
    ...{ failures: 0, error: null, percent: null, worker: null },
  }
  expect(shown).toEqual({
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
  const { ask, json } = await aPlace()
  for (const [line, said] of [
    ['resume', 'Nothing was paused.\n'],
    ['resume acme', 'acme: was not paused\n'],
    ['pause acme', 'acme: paused until resumed\n'],
    ['pause acme --until 2999-01-01', 'acme: paused already, since MOMENT; now until MOMENT\n'],
    ['pause', 'all organizations: paused until resumed\n'],
    ['resume globex', 'globex: resumed, paused since MOMENT\n'],
  ] as const)
    expect(await ask(line)).toEqual({ code: 0, stdout: said, stderr: '' })

  const { paused } = await json('queue')
  expect(paused).toContainEqual({ organization: null, since: MOMENT, until: null, resumed: ['globex'] })
  expect(await ask('resume')).toMatchObject({ code: 0 })
  expect((await json('queue')).paused).toEqual([])
})

test.each([
  [{}, failing(2, 'There is no queue'), ''],
  [{ queue: 'redis://127.0.0.1:1' }, failing(5, 'cannot be used'), 'pauses are not known'],
])(
  'with the queue %j pause says so; status and schedule only that they know no pauses',
  async (settings, refused, unknown) => {
    const { run } = aWorkplace(organizationsOf(await aSandbox({ customers: [3] })), settings)
    await run('sync')

    expect(await run('pause')).toMatchObject(refused)
    for (const line of ['status', 'schedule']) {
      const { code, stdout, stderr } = await run(`${line} --json`)
      expect({ code, stderr }).toEqual({ code: 0, stderr: unknown && expect.stringContaining(unknown) })
      expect(JSON.parse(stdout).organizations).toMatchObject([{ organization: 'acme', paused: null }])
    }
  },
)

test.skipIf(isEmbedded)('queue shows who runs and how far, what is paused, and when a job is tried again', async () => {
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
    shown = await place.json('queue')
    return shown.jobs.filter(({ state }) => state === 'delayed').length
  }
  await expect.poll(countDelayed).toBe(1)
  const { jobs, paused } = shown
  gate.open()

  const byOrganization = new Map(jobs.map((job) => [job.organization, job]))
  const running = { state: 'running', worker: { host: hostname(), process: pid }, percent: expect.any(Number) }
  expect(byOrganization.get('acme')).toMatchObject(running)
  expect(byOrganization.has('globex')).toBe(false)
  const delayed = { state: 'delayed', why: 'outage', attempt: 2, failures: 1, error: 'network', until: MOMENT }
  expect(byOrganization.get('initech')).toMatchObject(delayed)
  expect(paused).toEqual([{ organization: 'globex', since: MOMENT, until: null, resumed: [] }])
})

type Moment = { at: string; local: string }
type Shown = { organization: string; dueNow: boolean; runs: Moment[]; quick: { runs: Moment[] } | null }

async function listed({ json }: Pick<Workplace, 'json'>, next: number): Promise<Shown[]> {
  return (await json(`schedule --next ${next}`)).organizations
}

test('the coming runs are shown in local time and in UTC, quick ones apart, each at its moment of a quarter of an hour; never is none', async () => {
  const [acme, globex, initech] = organizationsOf(await aSandbox({ customers: [10, 10, 10] }))
  const ofGlobex = { timezone: 'Asia/Kolkata', quick: 'never' }
  const own = [acme!, { ...globex!, schedule: ofGlobex }, { ...initech!, schedule: { spread: '1h' } }]
  const schedule = { cron: '30 2 * * *', timezone: 'Europe/Paris', quick: '*/15 * * * *' }
  const place = aWorkplace(own, { schedule })
  await place.run('sync acme globex')
  const [paris, kolkata, due] = await listed(place, 220)

  expect([paris, kolkata, due].map((each) => each?.dueNow)).toEqual([false, false, true])
  expect(paris?.runs).toHaveLength(220)
  // Longer than summer time lasts.
  expect(new Set(paris?.runs.map(({ local }) => local.slice(17)))).toEqual(new Set(['GMT+1', 'GMT+2']))
  for (const { at, local } of kolkata?.runs ?? []) {
    expect(at).toMatch(/T21:00:00.000Z$/)
    expect(local).toContain(' 02:30 GMT+5:30')
  }
  expect(due).toMatchObject({ cron: '30 2 * * *', quick: { cron: '*/15 * * * *', runs: { length: 220 } } })
  const timesMs = due?.quick?.runs.map(({ at }) => Date.parse(at)) ?? []
  expect(timesMs).toEqual(timesMs.map((_, run) => (timesMs[0] ?? 0) + run * 900_000))
  expect(kolkata?.quick).toBeNull()
})

test.skipIf(isEmbedded)('schedule, status and run know of a pause, and run asks for another once', async () => {
  const place = aJobsWorkplace(organizationsOf(await aSandbox({ customers: [1, 1, 1] })), {
    schedule: { cron: '0 6 * * *', timezone: 'UTC', quick: '*/15 * * * *' },
  })
  await aMirrorOfFive(place.mirror)
  await place.run('pause acme --until 2999-12-24T05:30Z')
  await place.run('pause globex')
  const standing = await place.json('status')
  const asked = await place.run(`run acme initech --config ${place.config}`)
  const again = await place.run('run initech')
  const quick = await place.run('run initech --quick')
  const { queues } = await someQueues(place.queue, place.mirror)

  const until = '2999-12-24T05:30:00.000Z'
  expect(await listed(place, 2)).toMatchObject([
    { dueNow: false, paused: { until }, runs: [{ at: until }, {}] },
    { dueNow: false, paused: { until: null }, runs: [], quick: { runs: [] } },
    { dueNow: true, paused: null, runs: { length: 2 } },
  ])
  expect(standing.organizations).toMatchObject([
    { organization: 'acme', why: expect.arrayContaining(['paused']), paused: { until } },
    { organization: 'globex', paused: { until: null } },
    { organization: 'initech', paused: null },
  ])
  expect(asked.code).toBe(5)
  expect(asked.stdout).toMatch(/^acme: .* customer-mirror resume acme --config .*\ninitech: queued\n$/)
  expect(again).toMatchObject({ code: 0, stdout: 'initech: is queued already\n' })
  expect(quick.stdout).toMatch(/^initech: its whole list .* is about to be; no quick run was added\n$/)
  expect(await queues.sync.getWaiting()).toMatchObject([{ name: 'manual', data: { organization: 'initech' } }])
})
