import { expect, test } from 'vitest'
import { BucketMemory } from '../../../jobs/publish/publisher.ts'
import type { BucketPlan } from '../../../src/copies/publish-plan.ts'
import type { RecordedOrganization } from '../../../src/copies/organizations.ts'

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
  const memory = new BucketMemory()
  await memory.publish([PLAN], [LAST], async () => ({ copies: [], leftOut: [], failed: [], warnings: [] }))

  expect(memory.isUpToDate(PLAN, [{ ...LAST, ...since }])).toBe(isUpToDate)
})

test('a bucket lacks what failed there: it is published again although nothing happened since', async () => {
  const memory = new BucketMemory()
  const failed = [{ file: 's3://analytics/', code: 'busy', message: 'busy' } as const]
  await memory.publish([PLAN], [LAST], async () => ({ copies: [], leftOut: [], failed, warnings: [] }))

  expect(memory.isUpToDate(PLAN, [LAST])).toBe(false)
})

test.each([
  ['stay for readers', { replaced: 1, isLeft: false }],
  ['could not be removed for the moment', { replaced: 0, isLeft: true }],
])('a bucket with objects that %s is published again', async (_, left) => {
  const memory = new BucketMemory()
  const bucket = {
    to: 's3://analytics',
    generation: 2,
    writtenAt: '',
    isNew: true,
    organizations: [],
    gone: [],
    ...left,
  }
  const published = { copies: [], leftOut: [], failed: [], warnings: [], bucket }

  expect(await memory.publish([PLAN], [LAST], async () => published)).toEqual([published, true])
  expect(memory.isUpToDate(PLAN, [LAST])).toBe(false)
})
