import { describe, expect, test } from 'vitest'
import { examine } from '../../../jobs/monitoring/health.ts'
import { overviewFacts } from '../../../jobs/monitoring/metrics.ts'
import { lateSinceMs } from '../../../jobs/schedule/due-runs.ts'
import type { Organization } from '../../../src/config/organization.ts'
import { readConfig } from '../../../src/config/read-config.ts'
import { readOverview } from '../../../src/status/overview.ts'
import { anEnding, aPage, customers, MINUTE_MS } from '../../support/builders.ts'
import { aMirror } from '../../support/mirror-file.ts'
import { runHere } from '../../support/run-cli.ts'
import { aWorkplace, organizationAt } from '../../support/workplace.ts'

const HOUR_MS = 60 * MINUTE_MS
/** Ten hours after everything was due. */
const NOW_MS = Date.UTC(2026, 2, 5, 12)
const AT = { baseUrl: new URL('http://127.0.0.1:1/api/v1') }
const REFUSED = { ...anEnding(), status: 'failed', error: { code: 'unauthorized', message: 'no' } } as const

type Known = { seenAgoMs?: number; begunAgoMs?: number; ended?: 'interrupted' | 'failed' | 'complete' }

describe('an organization that was never read', () => {
  test.each<[what: string, known: Known, isLate: boolean, urgency: number]>([
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
  ])('and %s: late is %s', async (_what, known, isLate, urgency) => {
    const { organizations, mirror } = await aNew(known)
    const readiness = await examine({ write: async () => {}, workers: [], organizations, mirror, nowMs: NOW_MS })
    const facts = overviewFacts(organizations, { nowMs: NOW_MS, monotonicMs: 0 })
    const [shown] = (await readOverview(mirror, facts)).organizations

    expect(readiness.ready).toBe(!isLate)
    expect(shown?.due).toMatchObject({ isDue: true, isLate })
    expect(shown?.standing.urgency).toBe(urgency)
  })
})

const DUE_MS = Date.UTC(2026, 2, 5, 2)
const [SEEN, READ] = [(seenAtMs: number) => ({ seenAtMs }), (readAsOfMs: number) => ({ readAsOfMs })]

test.each<[what: string, seen: { seenAtMs?: number }, known: { readAsOfMs?: number }, sinceMs: number | undefined]>([
  ['was read when it was due', {}, READ(DUE_MS), undefined],
  ['was last read before', {}, READ(DUE_MS - 1), DUE_MS],
  ['was last read before, and is seen by this worker for an hour', SEEN(NOW_MS - HOUR_MS), READ(DUE_MS - 1), DUE_MS],
  ['is new since two hours', SEEN(NOW_MS - 2 * HOUR_MS), {}, NOW_MS - 2 * HOUR_MS],
  ['is new since less', SEEN(NOW_MS - 2 * HOUR_MS + 1), {}, undefined],
])('an organization that %s is late accordingly', (_, seen, known, sinceMs) => {
  const schedule = { cron: '0 2 * * *', timezone: 'UTC', spreadMs: 0 }
  const lastRun = { readAsOfMs: undefined, firstRunAtMs: undefined, ...known }

  expect(lateSinceMs({ id: 'acme', seenAtMs: undefined, ...seen, schedule }, lastRun, NOW_MS)).toBe(sinceMs)
})

test('status --max-age is content with a first load that is younger, and not with one that failed', async () => {
  const { folder, config, mirror: file } = aWorkplace([organizationAt(AT)])
  const mirror = await aMirror(file)
  const nowMs = Date.now()
  const run = await mirror.startRun({ organization: 'acme', trigger: 'sync', nowMs: nowMs - 20 * MINUTE_MS })
  const status = (...args: string[]) =>
    runHere(['status', '--config', config, '--max-age', ...args], { cwd: folder, env: {} })

  expect((await status('26h')).code).toBe(0)
  expect((await status('26h', '--proven')).code).toBe(0)
  expect((await status('10m')).code).toBe(3)
  await mirror.finishRun(run, REFUSED, nowMs)
  expect((await status('26h')).code).toBe(3)
})

async function aNew({ seenAgoMs, begunAgoMs, ended }: Known) {
  const { config } = aWorkplace([organizationAt(AT)], { schedule: { cron: '0 2 * * *', timezone: 'UTC' } })
  const read = await readConfig({ file: config, cwd: '/' })
  const seenAtMs = seenAgoMs === undefined ? undefined : NOW_MS - seenAgoMs
  const organizations: Organization[] = read.organizations.map((each) => ({ ...each, seenAtMs }))
  const mirror = await aMirror()
  if (begunAgoMs !== undefined) {
    const nowMs = NOW_MS - begunAgoMs
    const run = await mirror.startRun({ organization: 'acme', trigger: 'catch-up', nowMs })
    await mirror.savePages(run, [aPage(1, customers(1, 3))], nowMs)
    if (ended === 'failed') await mirror.finishRun(run, REFUSED, nowMs)
    else if (ended !== undefined) await mirror.finishRun(run, anEnding({ status: ended }), nowMs)
  }
  return { organizations, mirror }
}
