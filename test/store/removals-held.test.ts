import { expect, test } from 'vitest'
import { sqlTime } from '../../src/store/port/sql.ts'
import { UsageError } from '../../src/errors/errors.ts'
import { aCustomer, customerId, customers, START_MS } from '../support/builders.ts'
import { aMirror, rowsOf } from '../support/mirror-file.ts'
import { changes, DAY_MS, fateOf, fates, type Night, night } from './nights.ts'

const AT_MS = START_MS + 30 * DAY_MS

test.each([1, 2, 20, 500])('a list that is suddenly empty is held, were it of %d customers', async (known) => {
  const mirror = await aMirror()
  const rule = { after: 1, maxShare: 1 }
  await night(mirror, 1, customers(1, known))

  expect(await night(mirror, 2, [], { rule })).toMatchObject({ missing: 0, removed: 0, held: known })
  expect(fates(mirror)).toEqual({ listed: known, missing: 0, removed: 0 })
})

test.each([
  [2, 2, false],
  [3, 3, true],
  [3, 4, false],
  [20, 100, false],
  [21, 100, true],
  [21, 210, false],
  [22, 210, true],
])('%d absent of %d customers listed before, with a new one, are held: %s', async (gone, known, areHeld) => {
  const mirror = await aMirror()
  await night(mirror, 1, customers(1, known))

  const report = await night(mirror, 2, [...customers(gone + 1, known), aCustomer(1000)])

  expect(report).toMatchObject(areHeld ? { held: gone, missing: 0 } : { held: 0, missing: gone })
})

test.each([
  ['all were searched for', false, []],
  ['a sample was searched for', true, [2]],
])(
  'where a search finds an absent customer, only those are held that are due and were not searched for: %s',
  async (_, isSample, held) => {
    const mirror = await aMirror()
    await night(mirror, 1, customers(1, 30))
    await night(mirror, 2, customers(3, 30))
    const found = { confirmed: new Set<string>(), found: new Set([customerId(1)]), isSample }
    const removals = { rule: { after: 2, maxShare: 0.1 }, ...found }

    const report = await night(mirror, 3, customers(4, 30), { ending: { removals, certificate: {} } })

    expect(report).toMatchObject({ proof: 'unproven', reasons: ['contradicted'], held: held.length, missing: 0 })
    expect(rowsOf(mirror.file, 'SELECT id FROM held_removals')).toEqual(held.map((n) => ({ id: customerId(n) })))
    expect(await mirror.findRun(report.runId ?? 0)).toMatchObject({
      certificate: { proof: 'unproven', reasons: ['contradicted'], found: [customerId(1)] },
    })
  },
)

test('held removals can be listed, and approved once: then the customers are removed, with their values kept', async () => {
  const mirror = await aMirror()
  await night(mirror, 1, customers(1, 100))
  const { runId = 0, startedAtMs } = await night(mirror, 2, customers(31, 100))
  expect(await mirror.listHeldRemovals()).toEqual([{ runId, organization: 'acme', held: 30, startedAtMs }])
  const named = rowsOf(mirror.file, 'SELECT id, name, email, absent_since, run_id FROM held_removals ORDER BY id')
  expect(named).toEqual(
    customers(1, 30).map(({ id, name, email }) => {
      return { id, name, email, absent_since: sqlTime(startedAtMs), run_id: runId }
    }),
  )

  expect(await mirror.approveRemovals(runId, AT_MS)).toBe(30)
  expect(rowsOf(mirror.file, 'SELECT id FROM held_removals')).toEqual([])

  expect(fates(mirror)).toEqual({ listed: 70, missing: 0, removed: 30 })
  expect(changes(mirror)).toEqual(customers(1, 30).map(({ id }) => [id, 'removed', runId]))
  const shape =
    'SELECT DISTINCT missing_since, removed_at, name IS NULL AS lost FROM customers WHERE removed_at IS NOT NULL'
  const at = '2026-02-04 02:00:00.000'
  expect(rowsOf(mirror.file, shape)).toEqual([{ missing_since: at, removed_at: at, lost: 0 }])
  expect(await mirror.listHeldRemovals()).toEqual([])
  await expect(mirror.approveRemovals(runId, AT_MS)).rejects.toBeInstanceOf(UsageError)
  expect(changes(mirror)).toHaveLength(30)
  expect(await night(mirror, 3, customers(31, 100))).toMatchObject({ missing: 0, removed: 0, held: 0 })
})

test('a discarded removal marks no customer, and waits for no decision as long as the same customers are absent', async () => {
  const mirror = await aMirror()
  await night(mirror, 1, customers(1, 100))
  const { runId = 0 } = await night(mirror, 2, customers(31, 100))

  expect(await mirror.discardRemovals(runId)).toBe(30)

  expect(fates(mirror)).toEqual({ listed: 100, missing: 0, removed: 0 })
  expect(await mirror.listHeldRemovals()).toEqual([])
  await expect(mirror.discardRemovals(runId)).rejects.toBeInstanceOf(UsageError)
  await expect(mirror.approveRemovals(runId, AT_MS)).rejects.toBeInstanceOf(UsageError)

  for (const n of [3, 4, 5]) {
    expect(await night(mirror, n, customers(31, 100))).toMatchObject({ held: 30, missing: 0 })
    expect(await mirror.listHeldRemovals()).toEqual([])
  }
  expect(await mirror.listFreshness()).toMatchObject([{ held: 0, missing: 0, removed: 0 }])
})

test.each([
  ['their number grows by half', customers(46, 100), 45],
  ['one of those named is listed again', [...customers(1, 1), ...customers(32, 100)], 30],
])('a discard ends where %s', async (_, list, held) => {
  const mirror = await aMirror()
  await night(mirror, 1, customers(1, 100))
  const { runId = 0 } = await night(mirror, 2, customers(31, 100))
  await mirror.discardRemovals(runId)
  expect(await night(mirror, 3, customers(45, 100))).toMatchObject({ held: 44 })
  expect(await mirror.listHeldRemovals()).toEqual([])

  const { runId: next } = await night(mirror, 4, list)

  expect(await mirror.listHeldRemovals()).toMatchObject([{ runId: next, held }])
  expect(await mirror.approveRemovals(next ?? 0, AT_MS)).toBe(held)
})

test('a run without held removals can be neither approved nor discarded', async () => {
  const mirror = await aMirror()

  await expect(mirror.approveRemovals(7, AT_MS)).rejects.toThrow('Run 7 holds no removals.')
  await expect(mirror.discardRemovals(7)).rejects.toThrow('Run 7 holds no removals.')
})

test.each<[string, Night]>([
  ['a proven scan', { proof: 'proven' }],
  ['a settled scan', { proof: 'settled' }],
  ['an unproven scan', { proof: 'unproven' }],
  ['a run that failed later', { proof: 'unproven', ending: { status: 'failed', reasons: ['failed'] } }],
  ['a run that was stopped later', { proof: 'unproven', ending: { status: 'interrupted', reasons: ['interrupted'] } }],
])('a held customer that %s receives again is released, and not removed by an approval', async (_, told) => {
  const mirror = await aMirror()
  await night(mirror, 1, customers(1, 100))
  const { runId = 0 } = await night(mirror, 2, customers(31, 100))

  await night(mirror, 3, customers(21, 100), told)

  expect(await mirror.listHeldRemovals()).toMatchObject([{ runId, held: 20 }])
  expect(await mirror.approveRemovals(runId, AT_MS)).toBe(20)
  expect(fateOf(mirror, 21)).toBe('listed')
})

test.each([false, true])('a held customer that a search finds is released, also in a sample: %s', async (isSample) => {
  const mirror = await aMirror()
  await night(mirror, 1, customers(1, 100))
  const { runId = 0 } = await night(mirror, 2, customers(31, 100))
  const removals = {
    rule: { after: 2, maxShare: 0.1 },
    confirmed: new Set<string>(),
    found: new Set([customerId(1)]),
    isSample,
  }

  expect(await night(mirror, 3, customers(31, 100), { ending: { removals } })).toMatchObject({
    proof: 'unproven',
    reasons: ['contradicted'],
  })
  expect(await mirror.approveRemovals(runId, AT_MS)).toBe(29)
  expect(fateOf(mirror, 1)).toBe('listed')
})
