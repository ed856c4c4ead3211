import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { syncCommand } from '../../../src/cli/sync.ts'
import { eventually } from '../../support/eventually.ts'
import { aJobsWorkplace } from '../../support/jobs-workplace.ts'
import { rowsOf, valueOf } from '../../support/mirror-file.ts'
import { published, SOON } from '../../support/publishing.ts'
import { runCommand } from '../../support/run-command.ts'
import { startWorker } from '../../support/worker-log.ts'
import { aSandbox, aWorkplace, organizationsOf } from '../../support/workplace.ts'
import { isDue, type PublishState, PublishMemory } from '../../../jobs/publish/publisher.ts'
import type { BucketPlan } from '../../../src/copies/publish-plan.ts'
import type { RecordedOrganization } from '../../../src/copies/organizations.ts'

test('a worker publishes when the runs of all organizations are over', async () => {
  const sandbox = await aSandbox({ customers: [50, 20, 3] })
  const place = aJobsWorkplace(organizationsOf(sandbox), { publish: { file: 'copies/x.db', keep: 9 } })
  const file = join(place.folder, 'copies', 'x.db')
  const worker = startWorker(place, { timings: SOON })
  await Promise.all(sandbox.organizations.map(({ id }) => worker.ran(id)))
  await eventually(
    () => (existsSync(file) ? valueOf(file, 'SELECT count(*) FROM customers') : 0),
    (customers) => customers === 73,
  )

  expect(rowsOf(file, 'SELECT organization, last_status FROM manifest')).toMatchObject([
    { organization: 'acme', last_status: 'complete' },
    { organization: 'globex', last_status: 'complete' },
    { organization: 'initech', last_status: 'complete' },
  ])
  expect(worker.lines.join('\n')).not.toContain('@example')
})

test('a worker that starts makes the copy that an earlier one did not live to make', async () => {
  const sandbox = await aSandbox({ customers: [30] })
  const place = aJobsWorkplace(organizationsOf(sandbox), { publish: { file: 'copies/x.db' } })
  const file = join(place.folder, 'copies', 'x.db')
  const withoutCopy = aWorkplace(organizationsOf(sandbox), { mirror: place.mirror })
  expect(await runCommand(syncCommand, ['--config', withoutCopy.config])).toMatchObject({ code: 0 })
  const worker = startWorker(place, { timings: SOON })
  await worker.said(published)

  expect(rowsOf(file, 'SELECT organization, run_id, customers FROM manifest')).toEqual([
    { organization: 'acme', run_id: 1, customers: 30 },
  ])
})

const LIMITS = { publishQuietMs: 60, publishLatestMs: 3600, publishRestMs: 600 }
const NOTHING: PublishState = {
  running: new Set(),
  changedAtMs: undefined,
  endedAtMs: undefined,
  publishedAtMs: undefined,
}

test.each<[what: string, state: Partial<PublishState>, nowMs: number, expected: boolean]>([
  ['nothing changed', {}, 10_000, false],
  ['nothing changed since the last copy', { endedAtMs: 0, publishedAtMs: 100 }, 10_000, false],
  ['the last run has just ended', { changedAtMs: 0, endedAtMs: 0 }, 59, false],
  ['no run for a while', { changedAtMs: 0, endedAtMs: 0 }, 60, true],
  ['a first change, and a later one', { changedAtMs: 0, endedAtMs: 50 }, 100, false],
  ['a run is under way', { changedAtMs: 0, endedAtMs: 0, running: new Set(['acme']) }, 1000, false],
  ['runs follow each other for too long', { changedAtMs: 0, endedAtMs: 3599, running: new Set(['acme']) }, 3600, true],
  ['the last copy was made a moment ago', { changedAtMs: 500, endedAtMs: 500, publishedAtMs: 450 }, 1000, false],
  ['the last copy was made some time ago', { changedAtMs: 500, endedAtMs: 500, publishedAtMs: 450 }, 1050, true],
  [
    'too long, but the last attempt was a moment ago',
    { changedAtMs: 0, endedAtMs: 3599, publishedAtMs: 3500 },
    3600,
    false,
  ],
  ['something may have changed before this worker started', { changedAtMs: 0 }, 60, true],
])('%s', (_, state, nowMs, expected) => {
  expect(isDue({ ...NOTHING, ...state }, nowMs, LIMITS)).toBe(expected)
})

const PLAN: BucketPlan = {
  mirror: 'customers.db',
  to: { bucket: 'analytics', prefix: '' },
  withoutPersonalData: false,
  organizations: ['acme'],
  afterRuns: true,
  graceMs: 600_000,
}
const LAST: RecordedOrganization = {
  ...{ organization: 'acme', runId: 3, startedAt: '2026-01-05 02:00:00.000', status: 'complete' },
  ...{ forgotten: 0, retiredAt: null, reading: undefined },
}

test.each<[string, Partial<RecordedOrganization>, boolean]>([
  ['nothing', {}, true],
  ['a run of a mirror that was begun anew', { startedAt: '2026-01-06 02:00:00.000' }, false],
  ['a run', { runId: 4 }, false],
  ['a forgotten customer', { forgotten: 1 }, false],
  ['a retirement', { retiredAt: '2026-01-07 02:00:00.000' }, false],
])('what a bucket lacks after a publish: %s', async (_, since, isUpToDate) => {
  const memory = new PublishMemory()
  await memory.publish([PLAN], [LAST], async () => ({ copies: [], leftOut: [], failed: [], warnings: [] }))

  expect(memory.isUpToDate(PLAN, [{ ...LAST, ...since }])).toBe(isUpToDate)
})

test.each([
  ['stay for readers', { replaced: 1, isLeft: false }],
  ['could not be removed for the moment', { replaced: 0, isLeft: true }],
])('a bucket with objects that %s is published again', async (_, left) => {
  const memory = new PublishMemory()
  const bucket = {
    to: 's3://analytics',
    generation: 2,
    writtenAt: '',
    isNew: true,
    organizations: [],
    gone: [],
    ...left,
  }
  const done = { copies: [], leftOut: [], failed: [], warnings: [], bucket }

  expect(await memory.publish([PLAN], [LAST], async () => done)).toEqual([done, true])
  expect(memory.isUpToDate(PLAN, [LAST])).toBe(false)
})
