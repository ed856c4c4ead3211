import { PassThrough } from 'node:stream'
import { expect, test, vi } from 'vitest'
import { examine } from '../../../jobs/monitoring/endpoints.ts'
import { createListener, logRun } from '../../../jobs/monitoring/listener.ts'
import { overviewFacts } from '../../../jobs/monitoring/metrics.ts'
import { createLog } from '../../../src/machine/log.ts'
import type { Pauses } from '../../../src/model/pause.ts'
import { anEnding, aPage, customers, MINUTE_MS, DAY_MS, HOUR_MS } from '../../support/builders.ts'
import { aFreshness, aRunOfJob, NO_RUNS } from '../../support/metrics.ts'
import { aMirror, mirrorPages } from '../../support/mirror-file.ts'
import { readOverview, readStandings } from '../../../src/status/overview.ts'

const DAILY = { cron: '0 2 * * *', timezone: 'UTC', spreadMs: 0 }
const NOW_MS = Date.now()

test('held removals are in the body of /readyz, and do not make it 503', async () => {
  const held = { runId: 12, organization: 'acme', held: 2138, startedAtMs: NOW_MS }
  const listHeldRemovals = async () => [held, { ...held, organization: 'left-the-configuration' }]
  const listUncountedFreshness = async () => [aFreshness('acme', NOW_MS)]
  const mirror = { ...NO_RUNS, listHeldRemovals, listUncountedFreshness }
  const readiness = await readinessOf(NOW_MS, { mirror })

  const expected = [{ run: 12, organization: 'acme', held: 2138 }]
  expect(readiness).toEqual({ ready: true, problems: [], held: expected })
})

const stated = (sinceMs: number, untilMs?: number, resumedMs?: number) => ({ sinceMs, untilMs, resumedMs })

test.each([
  ['is not paused', {}, false],
  ['is paused', { acme: stated(NOW_MS - DAY_MS) }, true],
  ['is paused with all of them', { '*': stated(NOW_MS - DAY_MS, NOW_MS + 1) }, true],
  ['was resumed a moment ago', { acme: stated(NOW_MS - DAY_MS, undefined, NOW_MS - 60_000) }, true],
  ['was resumed long ago', { acme: stated(NOW_MS - 3 * DAY_MS, undefined, NOW_MS - 2 * DAY_MS) }, false],
])('an organization that was not read since it was due and %s', async (what, pauses, ready) => {
  const readiness = await readinessOf(NOW_MS, { pauses: new Map(Object.entries(pauses)) })

  expect(readiness.ready).toBe(ready)
  const paused = readiness.paused?.map(({ organization }) => organization)
  expect(paused).toEqual(what.startsWith('is paused') ? ['acme'] : undefined)
})

test.each([
  ['proves nothing, for a record without an id', { reasons: ['rejected-without-id'] }, 0, true],
  ['may have read a cached list', { reasons: ['cached-answer'] }, -2 * DAY_MS, false],
  ['was dated by a clock that was wrong', {}, 25 * 365 * DAY_MS, false],
] as const)('an organization whose run %s', async (_, ending, aheadMs, ready) => {
  const mirror = await aMirror()
  await mirrorPages(mirror, [customers(1, 3)], { atMs: NOW_MS + aheadMs, ending })

  const readiness = await readinessOf(NOW_MS, { mirror })

  expect(readiness.ready).toBe(ready)
})

test.each([
  ['none', [], 'info', { held: 0 }],
  ['those of another organization', [{ organization: 'globex' }], 'info', { held: 0 }],
  ['some', [{ organization: 'acme' }], 'warn', { held: 2138, heldBy: 12 }],
])('the log line of a run has the removals that wait for a decision: %s', async (_, open, level, expected) => {
  const lines = new PassThrough()
  const held = open.map((each) => ({ ...each, runId: 12, held: 2138, startedAtMs: 0 }))
  logRun(createLog({ level: 'info', stream: lines }), aRunOfJob(), held)

  expect(JSON.parse(String(lines.read()))).toMatchObject({ level, msg: 'run complete', ...expected })
})

test('a worker whose queue refuses is not ready, and says why', async () => {
  const write = () => Promise.reject(new Error('cannot execute INSERT in a read-only transaction'))
  const readiness = await readinessOf(0, { write })

  expect(readiness.ready).toBe(false)
  expect(readiness.problems[0]).toContain('the queue cannot be written: cannot execute INSERT')
})

type Known = { pauses?: Pauses; mirror?: Parameters<typeof readStandings>[0]; write?: () => Promise<void> }

/** The readiness of a worker that mirrors acme alone, and never has. */
async function readinessOf(nowMs: number, { pauses = new Map(), mirror = NO_RUNS, write = async () => {} }: Known) {
  const facts = overviewFacts([{ id: 'acme', schedule: DAILY }], { nowMs, pauses, monotonicMs: 0 })
  return examine({ write, workers: [], standings: await readStandings(mirror, facts) })
}

test('the waits of runs for a mirror whose server is away are logged once a minute, and other events each time', () => {
  const info = vi.fn<(facts: object) => void>()
  let nowMs = 0
  const listener = createListener(Object({ log: { info }, monotonicMs: () => nowMs }))
  const away = { kind: 'waiting', reason: 'mirror-gone', waitMs: 10_000, untilMs: 0 } as const
  const throttled = { ...away, reason: 'rate-limited' } as const
  for (nowMs = 0; nowMs <= 60_000; nowMs += 10_000)
    for (const organization of ['acme', 'globex']) listener.onEvent(organization, away)
  for (const organization of ['acme', 'globex']) listener.onEvent(organization, throttled)

  expect(info.mock.calls.map(([facts]) => facts)).toEqual([
    { organization: 'acme', event: away },
    { organization: 'acme', event: away, leftOut: 11 },
    { organization: 'acme', event: throttled },
    { organization: 'globex', event: throttled },
  ])
})

/** Ten hours after everything was due. */
const NOON_MS = Date.UTC(2026, 2, 5, 12)
const REFUSED = { ...anEnding(), status: 'failed', error: { code: 'unauthorized', message: 'no' } } as const

type New = { seenAgoMs?: number; begunAgoMs?: number; ended?: 'interrupted' | 'failed' | 'complete' }

test.each<[what: string, known: New, isLate: boolean, urgency: number]>([
  ['was seen a minute ago, and waits for its first run', { seenAgoMs: MINUTE_MS }, false, 1],
  ['is in its first run for twenty minutes', { seenAgoMs: MINUTE_MS, begunAgoMs: 20 * MINUTE_MS }, false, 1],
  ['is in its first run for twenty minutes, without a worker', { begunAgoMs: 20 * MINUTE_MS }, false, 1],
  ['was interrupted in its first run', { begunAgoMs: 20 * MINUTE_MS, ended: 'interrupted' }, false, 1],
  ['was seen three hours ago', { seenAgoMs: 3 * HOUR_MS }, true, 0],
  ['is in its first run for three hours', { seenAgoMs: MINUTE_MS, begunAgoMs: 3 * HOUR_MS }, true, 0],
  // Between its attempts it is no more late than during them.
  ['failed a minute ago', { seenAgoMs: 2 * MINUTE_MS, begunAgoMs: MINUTE_MS, ended: 'failed' }, false, 0],
  ['began three hours ago, and failed', { seenAgoMs: MINUTE_MS, begunAgoMs: 3 * HOUR_MS, ended: 'failed' }, true, 0],
  ['was not seen by a worker', {}, true, 0],
  ['began at a moment far ahead', { begunAgoMs: -9000 * HOUR_MS }, true, 0],
])('an organization that was never read and %s: late is %s', async (_what, known, isLate, urgency) => {
  const mirror = await aNew(known)
  const seenAtMs = known.seenAgoMs === undefined ? undefined : NOON_MS - known.seenAgoMs
  const facts = overviewFacts([{ id: 'acme', schedule: DAILY, seenAtMs }], { nowMs: NOON_MS, monotonicMs: 0 })
  const readiness = await examine({ write: async () => {}, workers: [], standings: await readStandings(mirror, facts) })
  const [shown] = (await readOverview(mirror, facts)).organizations

  expect(readiness.ready).toBe(!isLate)
  expect(shown?.due).toMatchObject({ isDue: true, isLate })
  expect(shown?.standing.urgency).toBe(urgency)
})

async function aNew({ begunAgoMs, ended }: New) {
  const mirror = await aMirror()
  if (begunAgoMs !== undefined) {
    const nowMs = NOON_MS - begunAgoMs
    const run = await mirror.startRun({ organization: 'acme', trigger: 'catch-up', nowMs })
    await mirror.savePages(run, [aPage(1, customers(1, 3))], nowMs)
    if (ended === 'failed') await mirror.finishRun(run, REFUSED, nowMs)
    else if (ended !== undefined) await mirror.finishRun(run, anEnding({ status: ended }), nowMs)
  }
  return mirror
}
