import { expect, test } from 'vitest'
import type { Proof, Report } from '../../src/model/report.ts'
import { UsageError } from '../../src/errors/errors.ts'
import { aCustomer, aPage, customerId, customers, START_MS } from '../support/builders.ts'
import { aMirror, rowsOf, tamper, valueOf } from '../support/mirror-file.ts'
import { changes, DAY_MS, fateOf, fates, night, quickRun } from './nights.ts'

const AT_MS = START_MS + 30 * DAY_MS

test.each([
  ['twenty of thirty', 30, 20, 0],
  ['twenty of twenty-one', 21, 20, 0],
  ['twenty-one of thirty', 30, 21, 21],
  ['twenty-one of two hundred and ten, which is a tenth', 210, 21, 0],
  ['twenty-two of two hundred and ten', 210, 22, 22],
  ['half of a thousand', 1000, 500, 500],
  ['all except one', 400, 399, 399],
])('%s absent at once', async (_, known, absent, held) => {
  const mirror = await aMirror()
  await night(mirror, 1, customers(1, known))

  const report = await night(mirror, 2, customers(absent + 1, known))

  expect(report).toMatchObject({ status: 'complete', proof: 'proven', missing: absent - held, removed: 0, held })
  expect(fates(mirror)).toEqual({ listed: known - absent + held, missing: absent - held, removed: 0 })
  expect(await mirror.listRuns({ limit: 1 })).toEqual([report])
})

test.each([
  [1, 29, 0],
  [0.5, 29, 29],
  [0, 20, 0],
  [0, 21, 21],
])('with maxShare %d, %d of thirty absent: %d are held', async (maxShare, absent, held) => {
  const mirror = await aMirror()
  await night(mirror, 1, customers(1, 30))

  expect(await night(mirror, 2, customers(absent + 1, 30), { rule: { after: 2, maxShare } })).toMatchObject({ held })
})

test('customers that are new on the same night do not make those absent a smaller share', async () => {
  const mirror = await aMirror()
  await night(mirror, 1, customers(1, 100))

  expect(await night(mirror, 2, customers(22, 500))).toMatchObject({ inserted: 400, missing: 0, held: 21 })
})

test('those that quick runs added since the last complete run do not make the absent a smaller share, whatever failed since', async () => {
  const mirror = await aMirror()
  await night(mirror, 1, customers(1, 100))
  await quickRun(mirror, 1, customers(101, 300))
  await night(mirror, 2, [], { ending: { status: 'failed', error: { code: 'network', message: 'gone' } } })
  await quickRun(mirror, 2, customers(301, 500))

  expect(await night(mirror, 3, customers(22, 500))).toMatchObject({ inserted: 0, missing: 0, held: 21 })
})

test('those that quick runs added before the last complete run are listed as all others', async () => {
  const mirror = await aMirror()
  await night(mirror, 1, customers(1, 100))
  await quickRun(mirror, 1, customers(101, 500))
  await night(mirror, 2, customers(1, 500))
  await quickRun(mirror, 2, [aCustomer(501)])

  expect(await night(mirror, 3, customers(22, 501))).toMatchObject({ missing: 21, held: 0 })
})

test('those that quick runs added before a complete run that proved nothing are listed as all others', async () => {
  const mirror = await aMirror()
  await night(mirror, 0, customers(1, 160))
  await quickRun(mirror, 0, customers(161, 210))
  await night(mirror, 1, customers(1, 210), { proof: 'unproven' })

  expect(await night(mirror, 2, customers(22, 210))).toMatchObject({ missing: 21, held: 0 })
})

test('what other organizations add, complete or hold changes no share', async () => {
  const mirror = await aMirror()
  const other = { organization: 'globex' }
  await night(mirror, 0, customers(1, 110))
  await night(mirror, 0, customers(1, 100), other)
  await night(mirror, 1, customers(1, 210), { proof: 'unproven' })
  await night(mirror, 1, customers(1, 50), other)
  await night(mirror, 2, customers(501, 600), { organization: 'initech' })

  expect(await night(mirror, 2, customers(22, 210))).toMatchObject({ missing: 21, held: 0 })
  await quickRun(mirror, 2, customers(211, 310))
  await night(mirror, 3, customers(501, 600), { organization: 'initech' })
  expect(await night(mirror, 3, customers(26, 310))).toMatchObject({ missing: 0, held: 25 })
})

test('removed customers do not make those absent a smaller share', async () => {
  const mirror = await aMirror()
  const rule = { after: 1, maxShare: 0.5 }
  await night(mirror, 1, customers(1, 200))
  const { runId = 0 } = await night(mirror, 2, customers(151, 200), { rule })
  await mirror.approveRemovals(runId, AT_MS)

  expect(await night(mirror, 3, customers(181, 200), { rule })).toMatchObject({ removed: 0, held: 30 })
})

test.each([1, 2, 20, 500])('a list that is suddenly empty is held, were it of %d customers', async (known) => {
  const mirror = await aMirror()
  const rule = { after: 1, maxShare: 1 }
  await night(mirror, 1, customers(1, known))

  expect(await night(mirror, 2, [], { rule })).toMatchObject({ missing: 0, removed: 0, held: known })
  expect(fates(mirror)).toEqual({ listed: known, missing: 0, removed: 0 })
})

test.each([
  [2, 0],
  [3, 3],
  [15, 15],
])('a list that suddenly has none of its %d customers, but as many others: %d are held', async (known, held) => {
  const mirror = await aMirror()
  const rule = { after: 1, maxShare: 1 }
  await night(mirror, 1, customers(1, known))

  const report = await night(mirror, 2, customers(101, 100 + known), { rule })

  expect(report).toMatchObject({ inserted: known, missing: 0, removed: known - held, held })
})

test('the other customers are as new on later nights: those absent stay held until they are approved', async () => {
  const mirror = await aMirror()
  const others = customers(101, 115)
  await night(mirror, 1, customers(1, 15))
  await night(mirror, 2, others)
  await night(mirror, 3, others, { proof: 'unproven' })
  await night(mirror, 4, [...others, aCustomer(116)])
  const { runId = 0, held } = await night(mirror, 5, [...others, aCustomer(116)])
  expect(held).toBe(15)

  await mirror.approveRemovals(runId, AT_MS)

  expect(fates(mirror)).toEqual({ listed: 16, missing: 0, removed: 15 })
  expect(await night(mirror, 31, customers(106, 116))).toMatchObject({ missing: 5, held: 0 })
})

test('those that come while removals are held do not make the absent a smaller share', async () => {
  const mirror = await aMirror()
  await night(mirror, 1, customers(1, 100))
  await night(mirror, 2, customers(31, 500))

  expect(await night(mirror, 3, customers(31, 500))).toMatchObject({ missing: 0, held: 30 })
})

test('those that return do not make the absent a smaller share, on the same night or while removals are held', async () => {
  const mirror = await aMirror()
  const rule = { after: 1, maxShare: 0.1 }
  await night(mirror, 1, customers(1, 400))
  const { runId = 0 } = await night(mirror, 2, customers(1, 100), { rule })
  await mirror.approveRemovals(runId, AT_MS)

  expect(await night(mirror, 31, customers(31, 400), { rule })).toMatchObject({ returned: 300, removed: 0, held: 30 })
  expect(await night(mirror, 32, customers(31, 400), { rule })).toMatchObject({ returned: 0, removed: 0, held: 30 })
})

test('a list that was always empty, or whose customers are all removed, holds no removals', async () => {
  const mirror = await aMirror()
  expect(await night(mirror, 1, [])).toMatchObject({ held: 0 })
  await night(mirror, 2, customers(1, 3))
  const { runId = 0 } = await night(mirror, 3, [])
  await mirror.approveRemovals(runId, AT_MS)

  expect(await night(mirror, 4, [])).toMatchObject({ missing: 0, removed: 0, held: 0 })
  expect(await mirror.listHeldRemovals()).toEqual([])
})

test('a list of rejects only is not empty', async () => {
  const mirror = await aMirror()
  await night(mirror, 1, customers(1, 5))

  const report = await night(mirror, 2, customers(2, 5, { name: ['Two', 'Names'] }))

  expect(report).toMatchObject({ rejected: 4, missing: 1, held: 0 })
})

test('a guard marks no customer, not even one that was missing before', async () => {
  const mirror = await aMirror()
  await night(mirror, 1, customers(1, 100))
  await night(mirror, 2, customers(2, 100))

  expect(await night(mirror, 3, customers(31, 100))).toMatchObject({ missing: 0, removed: 0, held: 30 })

  expect(fates(mirror)).toEqual({ listed: 99, missing: 1, removed: 0 })
  expect(changes(mirror)).toEqual([])
})

test('held removals can be listed, and approved once: then the customers are removed, with their values kept', async () => {
  const mirror = await aMirror()
  await night(mirror, 1, customers(1, 100))
  const { runId = 0, startedAtMs } = await night(mirror, 2, customers(31, 100))
  expect(await mirror.listHeldRemovals()).toEqual([{ runId, organization: 'acme', held: 30, startedAtMs }])

  expect(await mirror.approveRemovals(runId, AT_MS)).toBe(30)

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

test('a customer that is listed again after an approved removal has returned', async () => {
  const mirror = await aMirror()
  await night(mirror, 1, customers(1, 100))
  const { runId = 0 } = await night(mirror, 2, customers(31, 100))
  await mirror.approveRemovals(runId, AT_MS)

  expect(await night(mirror, 31, customers(30, 100))).toMatchObject({ returned: 1 })
  expect(fateOf(mirror, 30)).toBe('listed')
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

test.each([0, 7, 99])(
  'a run without held removals, such as %d, can be neither approved nor discarded',
  async (runId) => {
    const mirror = await aMirror()

    await expect(mirror.approveRemovals(runId, AT_MS)).rejects.toThrow(`Run ${runId} holds no removals.`)
    await expect(mirror.discardRemovals(runId)).rejects.toThrow(`Run ${runId} holds no removals.`)
  },
)

test('only the latest run holds a removal', async () => {
  const mirror = await aMirror()
  await night(mirror, 1, customers(1, 100))
  const { runId: first = 0 } = await night(mirror, 2, customers(31, 100))
  const { runId: second = 0 } = await night(mirror, 3, customers(26, 100))

  expect(await mirror.listHeldRemovals()).toMatchObject([{ runId: second, held: 25 }])
  await expect(mirror.approveRemovals(first, AT_MS)).rejects.toBeInstanceOf(UsageError)
  expect(await mirror.approveRemovals(second, AT_MS)).toBe(25)
})

test('each organization has its own', async () => {
  const mirror = await aMirror()
  for (const organization of ['acme', 'globex']) await night(mirror, 1, customers(1, 100), { organization })
  const acme = await night(mirror, 2, customers(1, 70), { organization: 'acme' })
  const globex = await night(mirror, 2, customers(41, 100), { organization: 'globex' })

  expect(await mirror.listHeldRemovals()).toMatchObject([
    { runId: globex.runId, organization: 'globex', held: 40 },
    { runId: acme.runId, organization: 'acme', held: 30 },
  ])
  await mirror.approveRemovals(globex.runId ?? 0, AT_MS)
  expect(fates(mirror)).toEqual({ listed: 100, missing: 0, removed: 0 })
  expect(await mirror.listHeldRemovals()).toMatchObject([{ organization: 'acme' }])
})

test('the nights of one organization leave the absences and the held removals of others as they are', async () => {
  const mirror = await aMirror()
  const [all, gone] = [customers(1, 100), customers(3, 100)]
  const nights = async (n: number, lists: Record<string, unknown[]>) => {
    const reports: [string, Report][] = []
    for (const [organization, list] of Object.entries(lists))
      reports.push([organization, await night(mirror, n, list, { organization })])
    return Object.fromEntries(reports)
  }
  await nights(1, { acme: all, globex: all, initech: all })
  await nights(2, { acme: gone, globex: gone, initech: customers(41, 100) })

  expect(await nights(3, { acme: [...gone, aCustomer(1)] })).toMatchObject({ acme: { missing: 0, removed: 1 } })
  expect(await mirror.listHeldRemovals()).toMatchObject([{ organization: 'initech', held: 40 }])
  expect(await nights(4, { globex: gone })).toMatchObject({ globex: { missing: 0, removed: 2 } })
})

test.each<[string, Proof]>([
  ['a proven', 'proven'],
  ['a settled', 'settled'],
  ['an unproven', 'unproven'],
])('a held customer that %s scan receives again is released', async (_, proof) => {
  const mirror = await aMirror()
  await night(mirror, 1, customers(1, 100))
  const { runId = 0 } = await night(mirror, 2, customers(31, 100))

  await night(mirror, 3, customers(21, 100), { proof })

  expect(await mirror.listHeldRemovals()).toMatchObject([{ runId, held: 20 }])
  expect(await mirror.approveRemovals(runId, AT_MS)).toBe(20)
  expect(fateOf(mirror, 21)).toBe('listed')
})

test.each<'failed' | 'interrupted'>(['failed', 'interrupted'])(
  'a held customer that a run received which %s later is not removed by an approval',
  async (status) => {
    const mirror = await aMirror()
    await night(mirror, 1, customers(1, 100))
    const { runId = 0 } = await night(mirror, 2, customers(31, 100))
    await night(mirror, 3, customers(21, 100), { proof: 'unproven', ending: { status, reasons: [status] } })

    expect(await mirror.approveRemovals(runId, AT_MS)).toBe(20)

    expect(fateOf(mirror, 21)).toBe('listed')
  },
)

test('a held customer that comes back in a record that has to be rejected is released', async () => {
  const mirror = await aMirror()
  await night(mirror, 1, customers(1, 100))
  const { runId = 0 } = await night(mirror, 2, customers(31, 100))

  await night(mirror, 3, [...customers(31, 100), aCustomer(1, { name: ['Two', 'Names'] })], { proof: 'unproven' })

  expect(await mirror.approveRemovals(runId, AT_MS)).toBe(29)
  expect(fateOf(mirror, 1)).toBe('listed')
})

test('a held customer that a search finds is released', async () => {
  const mirror = await aMirror()
  await night(mirror, 1, customers(1, 100))
  const { runId = 0 } = await night(mirror, 2, customers(31, 100))
  const removals = { rule: { after: 2, maxShare: 0.1 }, confirmed: new Set<string>(), found: new Set([customerId(1)]) }

  expect(await night(mirror, 3, customers(31, 100), { ending: { removals } })).toMatchObject({
    proof: 'unproven',
    reasons: ['contradicted'],
  })
  expect(await mirror.approveRemovals(runId, AT_MS)).toBe(29)
  expect(fateOf(mirror, 1)).toBe('listed')
})

test('held customers that are removed in the ordinary way are no longer held', async () => {
  const mirror = await aMirror()
  await night(mirror, 1, customers(1, 100))
  await night(mirror, 2, customers(31, 100))
  for (const n of [3, 4]) await night(mirror, n, customers(16, 100))
  expect(fates(mirror)).toEqual({ listed: 85, missing: 0, removed: 15 })

  expect(await mirror.listHeldRemovals()).toEqual([])
})

test('a customer received before the decision is not removed by an approval during the same run', async () => {
  const mirror = await aMirror()
  await night(mirror, 1, customers(1, 100))
  const { runId = 0 } = await night(mirror, 2, customers(31, 100))
  const run = await mirror.startRun({ organization: 'acme', trigger: 'sync', nowMs: AT_MS })
  await mirror.savePages(run, [aPage(1, customers(1, 100))], AT_MS)

  await mirror.approveRemovals(runId, AT_MS).catch(() => undefined)

  expect(valueOf(mirror.file, 'SELECT count(*) FROM customers WHERE removed_at IS NOT NULL')).toBe(0)
  expect(fateOf(mirror, 1)).toBe('listed')
  expect(changes(mirror).map(([id]) => id)).not.toContain(customerId(1))
})

test('the held removal of a customer who was deleted by hand is no longer held', async () => {
  const mirror = await aMirror()
  await night(mirror, 1, customers(1, 40))
  expect(await night(mirror, 2, [aCustomer(1)])).toMatchObject({ held: 39 })

  tamper(mirror.file, 'DELETE FROM customers WHERE row_id >= 3')

  expect(rowsOf(mirror.file, 'SELECT row_id FROM held_removals')).toEqual([{ row_id: 2 }])
})
