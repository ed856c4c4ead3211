import { describe, expect, test } from 'vitest'
import { MirrorUnusable } from '../../src/errors/errors.ts'
import { type Pruned, toJson } from '../../src/model/report.ts'
import type { Reckoning } from '../../src/model/run.ts'
import { applyRetention, mirrorOrganization } from '../../src/sync/mirror-organization.ts'
import { DAY_MS } from '../store/nights.ts'
import { aCustomer, START_MS } from '../support/builders.ts'
import { listedSource, mirroring } from '../support/listed-source.ts'
import { aMirror, valueOf } from '../support/mirror-file.ts'

const RETENTION = {
  changesMs: 3 * DAY_MS,
  resolvedRejectsMs: undefined,
  runsMs: undefined,
  removedCustomersMs: undefined,
}
const NOTHING: Pruned = {
  ...{ changes: 0, resolvedRejects: 0, runs: 0, removedCustomers: 0 },
  isUnfinished: false,
  error: undefined,
}

describe('the moment against which ages are measured', () => {
  const YEARS_MS = 3650 * DAY_MS
  test.each<[what: string, clocks: { startedMs?: number; nowMs?: number; offsetMs?: number }, expected: Reckoning]>([
    ['is the start of the run, if the service agrees', { offsetMs: 0 }, { asOfMs: START_MS, isConfirmed: true }],
    ['is unconfirmed, if the service sends no date', {}, { asOfMs: START_MS, isConfirmed: false }],
    [
      'is that of the service, if this machine is ten years ahead',
      { startedMs: START_MS + YEARS_MS, nowMs: START_MS + YEARS_MS, offsetMs: -YEARS_MS },
      { asOfMs: START_MS, isConfirmed: true },
    ],
    [
      'is the start of the run, if the clock jumped ahead since',
      { nowMs: START_MS + YEARS_MS, offsetMs: 0 },
      { asOfMs: START_MS, isConfirmed: true },
    ],
    [
      'is the start of the run, if the service is ten years ahead',
      { offsetMs: YEARS_MS },
      { asOfMs: START_MS, isConfirmed: true },
    ],
  ])('%s', async (_, { startedMs = START_MS, nowMs = START_MS, offsetMs }, expected) => {
    const asked: Reckoning[] = []
    const prune = async (_organization: string, _retention: object, reckoning: Reckoning) => {
      asked.push(reckoning)
      return NOTHING
    }
    await applyRetention(
      { ...settings({ prune }), source: { clockOffsetMs: offsetMs }, now: () => nowMs },
      { organization: 'acme', startedAtMs: startedMs },
    )

    expect(asked).toEqual([expected])
  })
})

test('a failure is reported, and the run stays complete', async () => {
  const mirror = await aMirror()
  const failing = {
    ...mirror,
    prune: () => Promise.reject(new MirrorUnusable('the disk is full', { code: 'full' })),
  }
  const source = { ...listedSource([aCustomer(1)]), clockOffsetMs: 0 }
  const { report, error } = await mirrorOrganization(mirroring(failing, source, { retention: RETENTION }))

  expect([report.status, error]).toEqual(['complete', undefined])
  expect(toJson(report)).toMatchObject({ pruned: { changes: 0, error: { code: 'full' } } })
})

test('what a defect says is not repeated, since it may quote anything', async () => {
  const prune = () => Promise.reject(new Error('secret'))
  const pruned = await applyRetention(settings({ prune }), { organization: 'acme', startedAtMs: START_MS })

  expect(JSON.stringify(pruned)).not.toContain('secret')
  expect(pruned).toMatchObject({ isUnfinished: true, error: { code: 'unexpected' } })
})

test('nothing is deleted, and nothing reported, without a limit or after a stop', async () => {
  const prune = () => Promise.reject(new Error('not to be asked'))
  const stopped = new AbortController()
  stopped.abort()
  const run = { organization: 'acme', startedAtMs: START_MS }

  expect(await applyRetention({ ...settings({ prune }), retention: undefined }, run)).toBeUndefined()
  expect(await applyRetention({ ...settings({ prune }), signal: stopped.signal }, run)).toBeUndefined()
  expect(await applyRetention(settings({ prune: async () => NOTHING }), run)).toBeUndefined()
})

test('a night deletes what is older than the organization keeps it, and says how much', async () => {
  const mirror = await aMirror()
  const reports = []
  for (let n = 0; n < 8; n += 1) {
    const source = { ...listedSource([aCustomer(1, { name: `Name ${n}` })]), clockOffsetMs: 0 }
    const now = () => START_MS + n * DAY_MS
    const { report } = await mirrorOrganization(mirroring(mirror, source, { retention: RETENTION, now }))
    reports.push(toJson(report))
  }

  expect(reports.map((report) => report.pruned?.changes)).toEqual([
    ...[undefined, undefined, undefined, undefined, undefined],
    ...[1, 1, 1],
  ])
  expect(valueOf(mirror.file, 'SELECT count(*) FROM changes')).toBe(4)
})

function settings({ prune }: Pick<Parameters<typeof applyRetention>[0]['mirror'], 'prune'>) {
  return {
    mirror: { prune },
    source: { clockOffsetMs: 0 },
    retention: RETENTION,
    now: () => START_MS,
    signal: new AbortController().signal,
  }
}
