import { expect, test, vi } from 'vitest'
import { MirrorUnusable } from '../../src/errors/errors.ts'
import type { Mirror } from '../../src/store/mirror.ts'
import { nothingPruned, toJson } from '../../src/model/report.ts'
import { applyRetention, mirrorOrganization } from '../../src/sync/mirror-organization.ts'
import { aCustomer, START_MS, DAY_MS } from '../support/builders.ts'
import { listedSource, mirroring } from '../support/listed-source.ts'
import { aMirror } from '../support/mirror-file.ts'

const UNLIMITED = { resolvedRejectsMs: undefined, runsMs: undefined, removedCustomersMs: undefined }
const RETENTION = { ...UNLIMITED, changesMs: 3 * DAY_MS }
const YEARS_MS = 3650 * DAY_MS

test.each([
  ['the start of the run, if the service agrees', 0, 0, 0],
  ['the start of the run, unconfirmed, if the service sends no date', 0, 0, undefined],
  ['the time of the service, if this machine is ten years ahead', YEARS_MS, YEARS_MS, -YEARS_MS],
  ['the start of the run, if the clock jumped ahead since', 0, YEARS_MS, 0],
  ['the start of the run, if the service is ten years ahead', 0, 0, YEARS_MS],
])('ages are measured against %s', async (_, startedMs, nowMs, clockOffsetMs) => {
  const prune = vi.fn<Prune>(async () => nothingPruned())
  const told = { ...settings({ prune }), source: { clockOffsetMs }, now: () => START_MS + nowMs }
  await applyRetention(told, { organization: 'acme', startedAtMs: START_MS + startedMs })

  const reckoning = { asOfMs: START_MS, isConfirmed: clockOffsetMs !== undefined }
  expect(prune.mock.calls).toEqual([['acme', RETENTION, reckoning]])
})

test.each([
  ['a full disk', new MirrorUnusable('the disk is full', { code: 'full' }), 'full'],
  ['a defect, which may quote anything,', new Error('secret'), 'unexpected'],
])(
  'where %s keeps the rows, that is reported without a quotation, and the run stays complete',
  async (_, failure, code) => {
    const failing = { ...(await aMirror()), prune: () => Promise.reject(failure) }
    const source = { ...listedSource([aCustomer(1)]), clockOffsetMs: 0 }
    const { report, error } = await mirrorOrganization(mirroring(failing, source, { retention: RETENTION }))

    expect([report.status, error]).toEqual(['complete', undefined])
    expect(toJson(report)).toMatchObject({ pruned: { changes: 0, isUnfinished: true, error: { code } } })
    expect(JSON.stringify(report)).not.toContain('secret')
  },
)

test('nothing is deleted, and nothing reported, without a limit or after a stop', async () => {
  const prune = () => Promise.reject(new Error('not to be asked'))
  const run = { organization: 'acme', startedAtMs: START_MS }

  expect(await applyRetention({ ...settings({ prune }), retention: undefined }, run)).toBeUndefined()
  expect(await applyRetention({ ...settings({ prune }), signal: AbortSignal.abort() }, run)).toBeUndefined()
  expect(await applyRetention(settings({ prune: async () => nothingPruned() }), run)).toBeUndefined()
})

type Prune = Mirror['prune']

function settings({ prune }: { prune: Prune }) {
  const { signal } = new AbortController()
  return { mirror: { prune }, source: { clockOffsetMs: 0 }, retention: RETENTION, now: () => START_MS, signal }
}
