import { afterEach, describe, expect, test } from 'vitest'
import { monotonicMs } from '../../../src/machine/monotonic-clock.ts'
import { windowText } from '../../../src/config/settings/window.ts'
import { openLiveConfig } from '../../../jobs/configuration/live-config.ts'
import type { Queues } from '../../../jobs/queue/queues.ts'
import { putOffOf } from '../../../jobs/pauses/put-off.ts'
import type { RunOfJob } from '../../../jobs/run/sync-job.ts'
import { TIMINGS } from '../../../jobs/timings.ts'
import { openEngine } from '../../../jobs/worker-parts.ts'
import { eventually } from '../../support/eventually.ts'
import { aGate } from '../../support/gate.ts'
import { aJobsWorkplace } from '../../support/jobs-workplace.ts'
import { rowsOf } from '../../support/mirror-file.ts'
import { QUICK } from '../../support/worker-log.ts'
import { aSandbox, organizationsOf } from '../../support/workplace.ts'

const HOUR_MS = 3_600_000
const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

describe('outside the hours in which runs may start', () => {
  test('a job waits for them, and uses no attempt', async () => {
    const { engine, putOffs, now } = await anEngine({ opensInHours: 3 })
    await engine.queues.requestSync('acme', 'catch-up')
    void engine.syncWorker.run()
    await eventually(
      () => putOffs.length,
      (length) => length > 0,
    )
    const [job] = await engine.queues.sync.getDelayed()

    expect(putOffs).toEqual(['acme window'])
    expect(job).toMatchObject({ attemptsMade: 0, data: { organization: 'acme' } })
    const { why, untilMs = 0 } = putOffOf(job!) ?? {}
    expect(why).toBe('window')
    expect(untilMs - now()).toBeGreaterThan(1.9 * HOUR_MS)
    expect(untilMs - now()).toBeLessThanOrEqual(3 * HOUR_MS)
  })

  test('a run that a person asks for is made', async () => {
    const { engine, runs } = await anEngine({ opensInHours: 3 })
    await engine.queues.requestSync('acme', 'manual')
    void engine.syncWorker.run()

    await eventually(
      () => runs.map(({ verdict }) => verdict.kind),
      (verdicts) => verdicts.includes('complete'),
    )
  })

  test('no quick run is made', async () => {
    const { engine, quickEnds } = await anEngine({ opensInHours: 3 })
    await engine.queues.requestQuick('acme', 'schedule')
    void engine.quickWorker.run()

    await eventually(
      () => quickEnds.length,
      (length) => length > 0,
    )
    expect(quickEnds).toEqual(['skipped window'])
  })
})

test('a run under way when they end stops after its page, and goes on in the next', async () => {
  const gate = aGate({ fromPage: 4 })
  const { engine, runs, putOffs, clock, place } = await anEngine({ opensInHours: -1, customers: 500, gate })
  await engine.queues.requestSync('acme', 'schedule')
  void engine.syncWorker.run()
  await gate.reached
  clock.aheadMs = 3 * HOUR_MS
  const looksBefore = clock.looks
  // Nothing else looks at the clock while the page is held.
  await eventually(
    () => clock.looks,
    (looks) => looks > looksBefore + 2,
  )
  gate.open()
  // The queue waits by the clock of the machine, which was not set.
  await (await delayedJob(engine)).promote()
  await eventually(
    () => putOffs.length,
    (length) => length > 0,
  )
  const [stopped] = rowsOf(place.mirror, 'SELECT status, error_code, received FROM runs')
  const job = await delayedJob(engine)
  clock.aheadMs += (putOffOf(job)?.untilMs ?? 0) - engineNow(clock)
  await job.promote()
  await eventually(
    () => runs.map(({ verdict }) => verdict.kind),
    (verdicts) => verdicts.includes('complete'),
  )

  expect(stopped).toMatchObject({ status: 'interrupted', error_code: 'window-closed' })
  expect(job).toMatchObject({ attemptsMade: 0 })
  const [first, second] = rowsOf(place.mirror, 'SELECT id, resumed_from, read_before, received FROM runs ORDER BY id')
  expect(second).toMatchObject({ resumed_from: first!['id'] })
  expect(Number(second!['read_before'])).toBeGreaterThan(0)
  expect(Number(second!['received'])).toBeLessThan(500)
  expect(rowsOf(place.mirror, 'SELECT count(*) AS customers FROM customers')).toEqual([{ customers: 500 }])
})

async function delayedJob({ queues }: { queues: Pick<Queues, 'sync'> }) {
  const [job] = await eventually(
    () => queues.sync.getDelayed(),
    (jobs) => jobs.length > 0,
  )
  return job!
}

const TICK_MS = 20

type Clock = { aheadMs: number; looks: number }
const engineNow = (clock: Clock) => Date.now() + clock.aheadMs

/** A worker whose runs may start for two hours, which begin so many hours from now, to the minute, with a clock that can be set. */
async function anEngine({
  opensInHours,
  customers = 3,
  gate,
}: {
  opensInHours: number
  customers?: number
  gate?: ReturnType<typeof aGate>
}) {
  const sandbox = await aSandbox({ customers: [customers], ...(gate && { intercept: gate.intercept }) })
  const opens = new Date(Date.now() + opensInHours * HOUR_MS)
  const fromMinute = opens.getUTCHours() * 60 + opens.getUTCMinutes()
  const window = { fromMinute, toMinute: (fromMinute + 120) % (24 * 60) }
  const cron = `${opens.getUTCMinutes()} ${opens.getUTCHours()} * * *`
  const schedule = { cron, timezone: 'UTC', window: windowText(window), quick: '*/15 * * * *' }
  const place = aJobsWorkplace(organizationsOf(sandbox, { concurrency: 1, scan: 'chain' }), { schedule })
  const clock: Clock = { aheadMs: 0, looks: 0 }
  const now = () => {
    clock.looks += 1
    return engineNow(clock)
  }
  const config = await openLiveConfig({ file: place.config, cwd: place.folder }, now)
  const [runs, putOffs, quickEnds]: [RunOfJob[], string[], string[]] = [[], [], []]
  const engine = await openEngine(config, {
    embedded: false,
    listenerFor: () => ({
      onRun: (run) => void runs.push(run),
      onPutOff: (organization, { why }) => void putOffs.push(`${organization} ${why}`),
      onQuickRun: (quick) => void quickEnds.push(`${quick.end} ${quick.end === 'skipped' ? quick.why : ''}`),
    }),
    timings: { ...TIMINGS, ...QUICK, lookMs: TICK_MS },
    now,
    monotonicMs,
    log: { info: () => {}, warn: () => {} },
    onOutdated: () => {},
  })
  closing.push(() => engine.stop([]))
  return { engine, runs, putOffs, quickEnds, clock, now, place }
}
