import { expect, test } from 'vitest'
import { emptyReport, type Report } from '../../src/model/report.ts'
import { type InNight, nightAt, rotasOf, standingsOf, nightText } from '../../jobs/notify.ts'
import { startDelayMs, type Schedule } from '../../jobs/schedule/due-times.ts'
import type { LastRun } from '../../src/model/mirror.ts'
import { HOUR_MS } from '../support/builders.ts'

const DUE_MS = Date.UTC(2026, 4, 1, 2)
const nightly = { cron: '0 2 * * *', timezone: 'UTC', spreadMs: 0 }

function aRota(...organizations: { id: string; schedule: Schedule }[]) {
  const [rota] = rotasOf(organizations)
  if (rota === undefined) throw new Error('no rota')
  return rota
}

test('organizations with the same cron line and time zone have their nights together', () => {
  const rotas = rotasOf([
    { id: 'acme', schedule: nightly },
    { id: 'globex', schedule: { ...nightly, spreadMs: HOUR_MS } },
    { id: 'hooli', schedule: { ...nightly, timezone: 'Europe/Paris' } },
    { id: 'initech', schedule: undefined },
  ])

  expect(rotas.map(({ organizations }) => organizations.map(({ id }) => id))).toEqual([['acme', 'globex'], ['hooli']])
  expect(new Set(rotas.map(({ name }) => name)).size).toBe(2)
})

test('a night ends two hours after the last organization is due, or after a worker saw it, or when the next one begins', () => {
  const [id, spread] = ['globex', { ...nightly, spreadMs: HOUR_MS }]
  const delayMs = startDelayMs(id, spread)
  const rota = aRota({ id: 'acme', schedule: nightly }, { id, schedule: spread })
  const night = nightAt(rota, DUE_MS, DUE_MS + 1000)
  const hourly = aRota({ id: 'acme', schedule: { ...nightly, cron: '0 * * * *' } })

  expect(night.organizations.map(({ dueMs }) => dueMs - DUE_MS)).toEqual([0, delayMs])
  expect(night.lastMs).toBe(DUE_MS + 1000 + 2 * HOUR_MS + delayMs)
  expect(nightAt(rota, DUE_MS, DUE_MS + 9 * HOUR_MS).lastMs).toBe(DUE_MS + 11 * HOUR_MS + delayMs)
  expect(nightAt(hourly, DUE_MS, DUE_MS).lastMs).toBe(DUE_MS + HOUR_MS)
})

const LAST_RUN: LastRun = {
  ...{ organization: 'acme', startedAtMs: DUE_MS + 1, endedAtMs: DUE_MS + 2, status: 'failed' },
  ...{ errorCode: 'refused', readAsOfMs: DUE_MS - 24 * HOUR_MS, partialErrorCode: undefined },
}
const REFUSED = { code: 'unauthorized', message: 'x' }
const CANCELLED = new Map([['cancel:acme', JSON.stringify({ jobs: [], untilMs: DUE_MS })]])

type Around = { lastRun?: Partial<LastRun> | undefined; state?: string; cancels?: Map<string, string> }

test.each<[string, InNight['ended'], Around]>([
  ['was read since it was due', 'complete', { lastRun: { status: 'complete', readAsOfMs: DUE_MS + 1 } }],
  ['failed, and no attempt follows', 'failed', {}],
  ['was called off by a person', 'failed', { lastRun: undefined, cancels: CANCELLED }],
  ['was called off, and still has a job', 'unfinished', { lastRun: undefined, cancels: CANCELLED, state: 'active' }],
  ['failed, and another attempt follows', 'unfinished', { state: 'delayed' }],
  ['was interrupted, and is caught up on', 'unfinished', { lastRun: { status: 'interrupted' } }],
  ['failed the night before', 'unfinished', { lastRun: { startedAtMs: DUE_MS - 1 } }],
  ['never ran', 'unfinished', { lastRun: undefined }],
])('an organization that %s is %s', async (_what, expected, around) => {
  const { lastRun, state, cancels = new Map() } = { lastRun: {}, ...around }
  const night = nightAt(aRota({ id: 'acme', schedule: nightly }), DUE_MS, DUE_MS)
  const standings = await standingsOf(night, {
    mirror: Object({ listLastRuns: async () => (lastRun === undefined ? [] : [{ ...LAST_RUN, ...lastRun }]) }),
    queues: Object({ stateOf: async () => state }),
    backend: Object({ values: { list: async (beginning: string) => (beginning === 'cancel:' ? cancels : new Map()) } }),
    now: () => DUE_MS + HOUR_MS,
  })

  expect(standings).toEqual([{ organization: 'acme', dueMs: DUE_MS, ended: expected }])
})

test('a night as a message of a chat says first who needs a person, with the command to run', () => {
  const run = (organization: string, changes: Partial<Report>): Report => ({
    ...emptyReport({ organization, trigger: 'schedule', startedAtMs: DUE_MS }),
    ...changes,
  })
  const ended = [
    { ended: 'complete', run: run('acme', { runId: 5, proof: 'proven', inserted: 3 }), heldRemovals: 0 },
    { ended: 'complete', run: run('globex', { runId: 6, proof: 'proven' }), heldRemovals: 50 },
    { ended: 'failed', run: run('hooli', { runId: 7, error: REFUSED }), heldRemovals: 0 },
    { ended: 'complete', run: run('initech', { runId: 8, reasons: ['shape-changed'] }), heldRemovals: 0 },
    { ended: 'unfinished', run: undefined, heldRemovals: 0 },
  ] as const
  const organizations = ended.map((each) => ({ organization: each.run?.organization ?? 'umbrella', ...each }))

  expect(nightText({ dueMs: DUE_MS }, organizations).split('\n')).toEqual([
    'Customer Mirror, night of 2026-05-01 02:00 UTC: 4 of 5 organizations did not go well.',
    '• globex: 50 removals wait for a decision. Who they are: `customer-mirror removals show globex`',
    '• hooli: failed: bad key, wrong secret or wrong recipe (unauthorized). To see more: `customer-mirror runs show 7`',
    '• initech: fields of many customers have changed, and what is stored is kept. To see more: `customer-mirror runs show 8`',
    '• umbrella: was not read to its end. To see why: `customer-mirror status`',
    '• acme: complete and proven: 3 new, 0 changed, 0 removed.',
  ])
})
