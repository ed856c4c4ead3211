import type { LastRun, Mirror } from '../../../src/store.ts'
import { once } from 'node:events'
import { DelayedError } from 'bullmq'
import { expect, test } from 'vitest'
import type { Organization } from '../../../src/config/organization.ts'
import { readConfig } from '../../../src/config/read-config.ts'
import { findWhyNotNeeded } from '../../../jobs/run/not-needed.ts'
import { startDelayMs } from '../../../jobs/schedule/due-times.ts'
import { reconcileSchedules } from '../../../jobs/schedule/reconcile.ts'
import { startTickWorker } from '../../../jobs/schedule/tick-worker.ts'
import { TIMINGS } from '../../../jobs/timings.ts'
import { aJobsWorkplace, FAR_AWAY, someQueues, takeNext } from '../../support/jobs-workplace.ts'
import { organizationAt } from '../../support/workplace.ts'

const AT = { baseUrl: new URL('http://127.0.0.1:1/api/v1') }
const OTHER = { cron: '0 4 29 2 *', timezone: 'UTC' }

test('schedules are made equal to the configuration: added, changed, removed, and the rest untouched', async () => {
  const { queues, reconcile } = await aSchedule(['acme', 'globex', 'initech'])
  const first = await reconcile({ lastRuns: allComplete })
  const before = await nextRuns(queues)

  const again = await reconcile({ lastRuns: allComplete })
  const changed = await reconcile({
    lastRuns: allComplete,
    change: ([acme, globex]) => [
      ...(acme === undefined ? [] : [acme, { ...acme, id: 'umbrella' }]),
      ...(globex === undefined ? [] : [{ ...globex, schedule: { ...OTHER, spreadMs: 0 } }]),
    ],
  })

  expect(first.upsert.map(({ organization }) => organization)).toEqual(['acme', 'globex', 'initech'])
  expect(again).toEqual({ catchUp: [], upsert: [], remove: [] })
  expect(changed).toMatchObject({
    remove: ['initech'],
    upsert: [{ organization: 'umbrella' }, { organization: 'globex' }],
  })
  const after = await nextRuns(queues)
  expect([...after.keys()].toSorted()).toEqual(['acme', 'globex', 'umbrella'])
  expect(after.get('acme')).toBe(before.get('acme'))
  expect(after.get('globex')).not.toBe(before.get('globex'))
})

test('a deploy at the moment an organization is due loses no tick', async () => {
  const { backend, queues, reconcile } = await aSchedule(['acme'], { cron: '* * * * *', timezone: 'UTC' })
  await reconcile({ lastRuns: allComplete })
  // The moment passes without a worker: its tick is overdue.
  const [tick] = await queues.tick.getDelayed()
  await tick?.promote()

  await reconcile({ lastRuns: allComplete, startedAtMs: Date.now() })

  expect(await takeNext(backend, 'tick')).toEqual({ organization: 'acme' })
})

test('a queue that forgot everything has its schedules back, and what is due is asked for', async () => {
  const { queues, reconcile } = await aSchedule(['acme', 'globex'])
  await reconcile({ lastRuns: allComplete })
  await queues.tick.obliterate({ force: true })

  const plan = await reconcile({ lastRuns: [] })
  const again = await reconcile({ lastRuns: [] })

  expect([...(await nextRuns(queues)).keys()].toSorted()).toEqual(['acme', 'globex'])
  expect(plan.catchUp).toEqual(['acme', 'globex'])
  expect(again.catchUp, 'a run that was asked for already').toEqual([])
  expect((await queues.sync.getWaiting()).map(({ name, data }) => `${name} ${data.organization}`).toSorted()).toEqual([
    'catch-up acme',
    'catch-up globex',
  ])
})

test('the queue ticks at the end of a gap in which the clocks skip the time', async () => {
  const timezone = 'Africa/Cairo'
  const gap = await nextSkippedMidnight(timezone)
  const { month, day } = gap
  const { backend, queues, reconcile } = await aSchedule(['acme'], {
    cron: `0 0 ${day - 1},${day} ${month} *`,
    timezone,
  })
  await reconcile({ lastRuns: allComplete })
  const [dayBefore] = await queues.tick.getDelayed()
  expect(dayBefore?.opts.prevMillis).toBe(gap.atMs - 86_400_000)
  await dayBefore?.promote()
  const worker = startTickWorker(backend, {
    ...{ queues, mirror: { listLastRuns: async () => [] }, organizationOf: () => undefined, now: Date.now, ...GONE },
  })
  worker.on('error', () => {})
  const done = once(worker, 'completed')
  worker.run().catch(() => {})
  await done
  await worker.close()

  expect((await queues.tick.getDelayed()).map(({ opts }) => opts.prevMillis)).toEqual([gap.atMs])
})

test('a schedule that has stopped ticking ticks again', async () => {
  const { queues, reconcile } = await aSchedule(['acme'])
  await reconcile({ lastRuns: allComplete })
  const [tick] = await queues.tick.getDelayed()
  const dueMs = Number(tick?.opts.prevMillis)
  // As after a worker that took the tick and died before it had made the next one.
  await tick?.remove().catch(() => queues.tick.obliterate({ force: true }))

  await reconcile({ lastRuns: allComplete, nowMs: dueMs + 1 })

  expect(await queues.tick.getDelayed()).toHaveLength(1)
})

test.each([
  ['asks for a run', -1, 1],
  ['asks for none when a worker has caught up since', 1, 0],
  ['asks for a run when the last one was dated by a clock that was wrong', 25 * 365 * 86_400_000, 1],
])('a tick that was overdue %s', async (_what, afterMs, jobs) => {
  const { backend, queues, organizations } = await aSchedule(['acme'])
  const { timestamp } = await queues.tick.add('tick', { organization: 'acme' })
  await tickOnce(backend, { queues, organizations, lastRuns: [completeRun('acme', timestamp + afterMs)] })

  expect(await queues.sync.getJobCountByTypes('waiting', 'delayed')).toBe(jobs)
})

test('a tick asks for a run where the mirror was moved away or cannot be read', async () => {
  const { backend, queues, organizations } = await aSchedule(['acme'])
  await queues.tick.add('tick', { organization: 'acme' })
  await tickOnce(backend, { queues, organizations, mirror: { listLastRuns: () => Promise.reject(new Error('gone')) } })

  expect(await queues.sync.getJobCountByTypes('waiting', 'delayed')).toBe(1)
})

test.each([
  ['before its start is due asks for that start', 60_000],
  ['after its start was due asks for a run at once', 7_200_000],
])('a tick that is taken late, %s', async (_what, lateMs) => {
  const schedule = { ...OTHER, spread: '1h' }
  const { backend, queues, organizations } = await aSchedule(['acme'], schedule)
  const delayMs = startDelayMs('acme', { ...schedule, spreadMs: 3_600_000 })
  const { timestamp } = await queues.tick.add('tick', { organization: 'acme' }, { timestamp: Date.now() - lateMs })
  // A run that was made up for between the two is none of that start.
  await tickOnce(backend, { queues, organizations, lastRuns: [completeRun('acme', timestamp + 1000)] })

  const [job] = await queues.sync.getJobs(['waiting', 'delayed'])
  const startMs = (job?.timestamp ?? 0) + (job?.opts.delay ?? 0)
  const expectedMs = Math.max(timestamp + delayMs, job?.timestamp ?? 0)
  expect(delayMs).toBeGreaterThan(60_000)
  expect(startMs).toBeGreaterThanOrEqual(expectedMs)
  expect(startMs).toBeLessThan(expectedMs + 10_000)
})

test.each([
  ['retries what failed for good before it started', -1, undefined],
  ['leaves what has failed for good since it started, for a worker that started with it', 1, 'refused-since'],
])('a worker that looks late %s', async (_what, afterMs, why) => {
  const { queues, organizations, reconcile } = await aSchedule(['acme'])
  const startedAtMs = Date.now() - 1000
  const endedAtMs = startedAtMs + afterMs
  const refused: LastRun = {
    organization: 'acme',
    startedAtMs: endedAtMs,
    status: 'failed',
    errorCode: 'unauthorized',
    completeAsOfMs: undefined,
    endedAtMs,
  }

  const plan = await reconcile({ lastRuns: [refused], startedAtMs })

  const [job] = await queues.sync.getJobs(['waiting', 'delayed'])
  const mirror = mirrorOfOne([refused])
  expect(plan.catchUp).toEqual(['acme'])
  expect(await findWhyNotNeeded(job!, organizations[0]!, { mirror, isAsked: async () => false, now: Date.now })).toBe(
    why,
  )
})

test('a quick line makes quick jobs, and goes with its ticks when it is taken out', async () => {
  const { backend, queues, organizations, reconcile } = await aSchedule(['acme'], { ...FAR_AWAY, quick: '15 * * * *' })
  await reconcile({ lastRuns: allComplete })
  const [names, jobs] = [[...(await nextRuns(queues)).keys()], await queues.tick.getDelayed()]
  const [tick] = jobs.filter(({ name }) => name === 'quick')
  await tick?.promote()
  await tickOnce(backend, { queues, organizations, lastRuns: [completeRun('acme', Date.now())] })
  const quickJobs = await queues.quick.getJobs(['waiting', 'delayed'])
  const taken = ([acme]: Organization[]) =>
    acme === undefined ? [] : [{ ...acme, schedule: { ...OTHER, spreadMs: 0 } }]
  const plan = await reconcile({ lastRuns: allComplete, change: taken })

  expect(names.toSorted()).toEqual(['acme', 'acme~quick'])
  expect(jobs.map(({ name, data }) => `${name} ${JSON.stringify(data)}`).toSorted()).toEqual([
    'quick {"organization":"acme"}',
    'tick {"organization":"acme"}',
  ])
  expect(quickJobs.map(({ name, data, opts }) => [name, data, opts.attempts])).toEqual([
    ['schedule', { organization: 'acme' }, 1],
  ])
  expect(await queues.sync.getJobCountByTypes('waiting', 'delayed')).toBe(0)
  expect(plan.remove).toEqual(['acme~quick'])
  expect([...(await nextRuns(queues)).keys()]).toEqual(['acme'])
  expect((await queues.tick.getDelayed()).map(({ name }) => name)).toEqual(['tick'])
})

test('twelve requests for one organization are one job, also while it waits for the service', async () => {
  const { backend, queues } = await aSchedule(['acme'])
  for (let wish = 1; wish <= 6; wish += 1) await queues.requestSync('acme', wish % 2 === 0 ? 'schedule' : 'manual')
  await takeNext(backend, 'sync', async (job, token) => {
    await job.moveToDelayed(Date.now() + 3_600_000, token)
    throw new DelayedError()
  })
  const later = []
  for (let wish = 7; wish <= 12; wish += 1) later.push(await queues.requestSync('acme', 'schedule'))
  const [job] = await queues.sync.getDelayed()

  expect(later).toEqual(Array.from({ length: 6 }, () => ({ added: false, state: 'delayed', id: job?.id })))
  expect(await queues.sync.getJobCountByTypes('waiting', 'delayed', 'active')).toBe(1)
  expect(job).toMatchObject({ attemptsMade: 0, data: { organization: 'acme' } })
})

const allComplete = 'complete'

/** What is not in the configuration is gone for good. */
const GONE = { mayComeLater: async () => false, listener: {}, timings: TIMINGS }

/** The next day of a zone without a midnight: its date, and the moment at which it begins. */
async function nextSkippedMidnight(timeZone: string): Promise<{ month: number; day: number; atMs: number }> {
  const shown = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'short' })
  for (let atMs = Math.ceil(Date.now() / 3_600_000 + 48) * 3_600_000; ; atMs += 3_600_000) {
    const [date = '', time] = shown.format(atMs).split(' ')
    const [, month = 0, day = 0] = date.split('-').map(Number)
    if (time === '01:00' && shown.format(atMs - 1).endsWith('23:59') && day > 1) return { month, day, atMs }
  }
}

async function aSchedule(ids: readonly string[], schedule: object = FAR_AWAY) {
  const { config, mirror, queue } = aJobsWorkplace(
    ids.map((id) => organizationAt(AT, { id, apiKey: `made-up-key-of-${id}` })),
    { schedule },
  )
  const { backend, queues } = await someQueues(queue, mirror)
  const { organizations } = await readConfig({ file: config, cwd: '/' })
  return { backend, queues, organizations, reconcile }

  async function reconcile({
    lastRuns,
    change = (same) => same,
    startedAtMs,
    nowMs = Date.now(),
  }: {
    lastRuns: LastRun[] | typeof allComplete
    change?: (organizations: Organization[]) => Organization[]
    startedAtMs?: number
    nowMs?: number
  }) {
    const wanted = change(organizations)
    const runs = lastRuns === allComplete ? wanted.map(({ id }) => completeRun(id, nowMs)) : lastRuns
    return reconcileSchedules({
      queues,
      mirror: { listLastRuns: async () => runs },
      values: backend.values,
      organizations: wanted,
      nowMs,
      startedAtMs,
    })
  }
}

function completeRun(organization: string, atMs: number): LastRun {
  return { organization, startedAtMs: atMs, status: 'complete', errorCode: undefined, completeAsOfMs: atMs }
}

/** A mirror that knows the last run of the organization that it is asked about, and none where it is asked about all. */
function mirrorOfOne(lastRuns: readonly LastRun[]): Pick<Mirror, 'listLastRuns'> {
  return {
    listLastRuns: async (filter) => lastRuns.filter(({ organization }) => organization === filter?.organization),
  }
}

/** Takes one tick as a worker does. */
async function tickOnce(
  backend: Awaited<ReturnType<typeof aSchedule>>['backend'],
  {
    queues,
    organizations,
    lastRuns = [],
    mirror = mirrorOfOne(lastRuns),
  }: Pick<Awaited<ReturnType<typeof aSchedule>>, 'queues' | 'organizations'> & {
    lastRuns?: LastRun[]
    mirror?: Pick<Mirror, 'listLastRuns'>
  },
): Promise<void> {
  const worker = startTickWorker(backend, {
    queues,
    mirror,
    organizationOf: (id) => organizations.find((organization) => organization.id === id),
    now: Date.now,
    ...GONE,
  })
  worker.on('error', () => {})
  const done = Promise.race([once(worker, 'completed'), once(worker, 'failed')])
  worker.run().catch(() => {})
  await done
  await worker.close()
}

async function nextRuns({ tick }: Awaited<ReturnType<typeof someQueues>>['queues']): Promise<Map<string, number>> {
  return new Map((await tick.getJobSchedulers()).map(({ key, next }) => [key, next ?? 0]))
}
