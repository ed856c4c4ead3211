import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { CancellableJobs } from '../../../jobs/run/cancellations.ts'
import type { EndOfQuickRun } from '../../../jobs/run/run-for-job.ts'
import { quickRunForJob } from '../../../jobs/run/quick-job.ts'
import { quickRunEnded } from '../../../jobs/run/sync-job.ts'
import { isForGood } from '../../../src/errors/error-facts.ts'
import { TIMINGS } from '../../../jobs/timings.ts'
import { Cancelled } from '../../../src/errors/errors.ts'
import { generateCustomers } from '../../../src/service/customers.ts'
import type { SandboxOptions } from '../../../src/service/sandbox.ts'
import { aGate } from '../../support/gate.ts'
import { FAR_AWAY } from '../../support/jobs-workplace.ts'
import { aMirror, rowsOf, valueOf } from '../../support/mirror-file.ts'
import { configured, syncSandbox } from '../../support/mirrored-sandbox.ts'
import { aSandbox } from '../../support/workplace.ts'

const STAY = new AbortController().signal

test('a quick run saves who came and marks who left as missing, and the list was read no later', async () => {
  const { sandbox, mirror, quick, ends } = await mirrored()
  const readAsOf = valueOf(mirror.file, 'SELECT read_as_of FROM freshness')
  const [first] = sandbox.organization('acme').customers
  sandbox.organization('acme').delete(first?.id ?? '')
  for (const customer of generateCustomers({ seed: 'came', count: 2 })) sandbox.organization('acme').insert(customer)

  const counts = await quick()

  expect(ends).toMatchObject([{ organization: 'acme', end: 'partial' }])
  expect(counts).toMatchObject({ inserted: 2, missing: 1, removed: 0 })
  expect(rowsOf(mirror.file, 'SELECT active, missing, read_as_of FROM freshness')).toEqual([
    { active: 402, missing: 1, read_as_of: readAsOf },
  ])
})

test.each(['active', 'waiting', 'delayed'])('a quick run is left out while a full run is %s', async (state) => {
  const { sandbox, quick, ends, fullRun } = await mirrored()
  const before = sandbox.organization('acme').requests.length
  fullRun.state = state

  await quick()

  expect(ends).toEqual([{ organization: 'acme', end: 'skipped', why: 'full-run' }])
  expect(sandbox.organization('acme').requests).toHaveLength(before)
})

test('a quick run that is under way when a full run begins stops, and the full run reads everything', async () => {
  const gate = aGate()
  let isClosed = false
  const { sandbox, mirror, quick, ends, fullRun } = await mirrored({
    intercept: (context, next) => (isClosed ? gate.intercept(context, next) : next()),
  })
  isClosed = true
  const running = quick()
  await gate.reached
  fullRun.state = 'active'
  await fullRun.looked
  await nextTurn()
  gate.open()
  await running

  expect(ends).toMatchObject([{ end: 'stopped', outcome: { report: { status: 'interrupted' } } }])
  expect(valueOf(mirror.file, 'SELECT count(*) FROM leases')).toBe(0)
  const { report } = await syncSandbox(sandbox, mirror)
  expect(report).toMatchObject({ status: 'complete', proof: 'proven', resumedFrom: undefined, missing: 0 })
})

test('a quick run of an organization that another run has is dropped: no run, no error', async () => {
  const { mirror, quick, ends } = await mirrored()
  await mirror.startRun({ organization: 'acme', trigger: 'sync', nowMs: Date.now() })

  await quick()

  expect(ends).toEqual([{ organization: 'acme', end: 'skipped', why: 'leased' }])
  expect(valueOf(mirror.file, 'SELECT count(*) FROM runs')).toBe(2)
})

test('a quick run that was refused fails once, and the next ones wait for a full run, unless a person asks', async () => {
  let isRefused = false
  const { sandbox, mirror, quick, ends } = await mirrored({
    intercept: async (_context, next) => (isRefused ? new Response('{}', { status: 403 }) : next()),
  })
  isRefused = true
  await expect(quick()).rejects.toThrow(/^forbidden: /)
  await quick()
  await expect(quick('manual')).rejects.toThrow(/^forbidden: /)
  isRefused = false
  await syncSandbox(sandbox, mirror)
  await quick()

  expect(ends.map((ended) => (ended.end === 'skipped' ? ended.why : ended.end))).toEqual([
    ...['failed', 'refused', 'failed', 'partial'],
  ])
})

test('an organization that lost its quick line, or left the configuration, has no quick run', async () => {
  const { quick, ends, settings } = await mirrored()
  settings.schedule = { ...settings.schedule, quick: undefined }
  await quick()
  settings.isConfigured = false
  await quick('manual')

  expect(ends.map((ended) => (ended.end === 'skipped' ? ended.why : ended.end))).toEqual([
    ...['not-scheduled', 'not-scheduled'],
  ])
})

test.each([
  ['while it is under way, and no longer', ['active', 'active', undefined], 3],
  ['not for one that waits in the queue', ['waiting'], 1],
  ['not where there is none', [undefined], 1],
])('a full run waits for a quick run %s', async (_what, states, asked) => {
  const left = [...states]
  let looks = 0
  const queue = {
    getDeduplicationJobId: async () => {
      looks += 1
      return left[0] === undefined ? null : 'job'
    },
    getJobState: async () => left.shift() ?? 'unknown',
  }
  const timings = { quickLookMs: 1, leasedWaitMs: 60_000 }
  await quickRunEnded('acme', STAY, {
    queues: Object({ quick: queue }),
    timings: { ...TIMINGS, ...timings },
    monotonicMs: () => 0,
  })

  expect(looks).toBe(asked)
})

test('a quick run that a person cancels is stopped, and the next one is made', async () => {
  const { quick, ends, cancel, mirror } = await mirrored()
  cancel.abort(new Cancelled('acme: made up'))

  await expect(quick()).rejects.toThrow('cancelled: acme: made up')
  expect(ends).toMatchObject([{ organization: 'acme', end: 'stopped' }])
  expect(valueOf(mirror.file, 'SELECT error_code FROM runs ORDER BY id DESC LIMIT 1')).toBe('cancelled')
  expect(isForGood('cancelled')).toBe(false)
})

test('a full run does not wait for a quick run for ever', async () => {
  let nowMs = 0
  const queue = { getDeduplicationJobId: async () => 'job', getJobState: async () => 'active' }
  const monotonicMs = () => (nowMs += 100)
  const timings = { quickLookMs: 1, leasedWaitMs: 1000 }

  await quickRunEnded('acme', STAY, {
    queues: Object({ quick: queue }),
    timings: { ...TIMINGS, ...timings },
    monotonicMs,
  })

  expect(nowMs).toBeLessThan(1500)
})

/** A mirror of 400 customers that were read to the end, and quick jobs for them. */
async function mirrored(options: SandboxOptions = {}) {
  const sandbox = await aSandbox({ customers: [400], ...options })
  const mirror = await aMirror()
  await syncSandbox(sandbox, mirror)
  const ends: EndOfQuickRun[] = []
  const looked = Promise.withResolvers<void>()
  const fullRun: { state: string | undefined; looked: Promise<void> } = { state: undefined, looked: looked.promise }
  const settings: { isConfigured: boolean; schedule: { quick: string | undefined } } = {
    isConfigured: true,
    schedule: { quick: '*/15 * * * *' },
  }
  const sync = {
    getDeduplicationJobId: async () => (fullRun.state === undefined ? null : 'job'),
    getJobState: async () => {
      looked.resolve()
      return fullRun.state
    },
  }
  const cancel = new AbortController()
  const organization = () =>
    configured(sandbox, { schedule: Object({ ...FAR_AWAY, spreadMs: 0, ...settings.schedule }) })
  const quick = (name: 'schedule' | 'manual' = 'schedule') =>
    quickRunForJob(
      Object({ name, data: { organization: 'acme' }, updateProgress: async () => {} }),
      { lost: undefined, cancelled: cancel.signal },
      {
        cancellable: new CancellableJobs({ list: async () => new Map(), lookMs: 1000 }),
        organizationOf: () => (settings.isConfigured ? organization() : undefined),
        lookAgain: async () => {},
        ...{
          mirror: {
            ...mirror,
            listLastRuns: async (filter) => (filter === undefined ? [] : mirror.listLastRuns(filter)),
          },
          rateLimits: new Map(),
          sharedTurns: undefined,
          queues: Object({ sync }),
        },
        listener: { onQuickRun: (ended) => void ends.push(ended) },
        onOutdated: () => {},
        pauses: { latest: async () => new Map() },
        stop: new AbortController().signal,
        timings: { ...TIMINGS, quickLookMs: 5 },
        ...{ now: Date.now, monotonicMs: Date.now, random: Math.random },
      },
    )
  return { sandbox, mirror, quick, ends, fullRun, settings, cancel }
}
