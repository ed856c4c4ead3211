import { expect, test } from 'vitest'
import { sqlTime } from '../../src/store/port/sql.ts'
import { UsageError } from '../../src/errors/errors.ts'
import { aCustomer, customerId, customers, START_MS, DAY_MS } from '../support/builders.ts'
import { aMirror, aPlayedMirror, rowsOf, valueOf } from '../support/mirror-file.ts'
import { aMirrorOf, changes, fateOf, fates, type Night, night, quickRun } from './nights.ts'
import type { Mirror } from '../../src/store/mirror.ts'

const AT_MS = START_MS + 30 * DAY_MS

/** A mirror of a hundred customers, and a night in which the first thirty are absent. */
async function thirtyAbsent() {
  const mirror = await aMirrorOf(customers(1, 100))
  const { runId = 0, startedAtMs } = await night(mirror, 2, customers(31, 100))
  return { mirror, runId, startedAtMs }
}

test.each([1, 2, 20, 500])('a list that is suddenly empty is held, were it of %d customers', async (known) => {
  const mirror = await aMirrorOf(customers(1, known))
  const rule = { after: 1, maxShare: 1 }

  expect(await night(mirror, 2, [], { rule })).toMatchObject({ missing: 0, removed: 0, held: known })
  expect(fates(mirror)).toEqual({ listed: known, missing: 0, removed: 0 })
})

test.each([
  [2, 2, false, 'proven'],
  [3, 3, true, 'proven'],
  [3, 4, false, 'proven'],
  [20, 100, false, 'proven'],
  [21, 100, true, 'proven'],
  [21, 100, true, 'settled'],
  [21, 100, true, 'unproven'],
  [21, 210, false, 'proven'],
  [22, 210, true, 'proven'],
] as const)('%d absent of %d, with a new one, are held: %s, by a %s scan', async (gone, known, areHeld, proof) => {
  const mirror = await aMirrorOf(customers(1, known))
  const confirmed = customers(1, gone).map(({ id }) => String(id))
  const told = { proof, isWhole: true, ...(proof !== 'proven' && { confirmed }) }

  const report = await night(mirror, 2, [...customers(gone + 1, known), aCustomer(1000)], told)

  expect(report).toMatchObject(areHeld ? { held: gone, missing: 0, removed: 0 } : { held: 0, missing: gone })
})

test('held removals can be listed, and approved once: then the customers are removed, with their values kept', async () => {
  const { mirror, startedAtMs } = await thirtyAbsent()
  const { runId = 0, startedAtMs: heldAtMs } = await night(mirror, 3, customers(31, 100))
  expect(await mirror.listHeldRemovals()).toEqual([{ runId, organization: 'acme', held: 30, startedAtMs: heldAtMs }])
  const held = { absent_since: sqlTime(startedAtMs), run_id: runId }
  expect(rowsOf(mirror.file, 'SELECT id, name, email, absent_since, run_id FROM held_removals ORDER BY id')).toEqual(
    customers(1, 30).map(({ id, name, email }) => ({ id, name, email, ...held })),
  )

  expect(await mirror.approveRemovals(runId, AT_MS)).toBe(30)
  expect(rowsOf(mirror.file, 'SELECT id FROM held_removals')).toEqual([])

  expect(fates(mirror)).toEqual({ listed: 70, missing: 0, removed: 30 })
  expect(changes(mirror)).toEqual(customers(1, 30).map(({ id }) => [id, 'removed', runId]))
  const kept = `SELECT DISTINCT missing_since, removed_at, changed_at, last_run_id, name IS NULL AS lost FROM customers
    WHERE removed_at IS NOT NULL`
  // Since the first scan that held the removal back.
  const dates = { missing_since: sqlTime(startedAtMs), removed_at: sqlTime(AT_MS), changed_at: sqlTime(START_MS) }
  expect(rowsOf(mirror.file, kept)).toEqual([{ ...dates, last_run_id: runId, lost: 0 }])
  expect(await mirror.listHeldRemovals()).toEqual([])
  await expect(mirror.approveRemovals(runId, AT_MS)).rejects.toBeInstanceOf(UsageError)
  expect(changes(mirror)).toHaveLength(30)
  expect(await night(mirror, 4, customers(31, 100))).toMatchObject({ missing: 0, removed: 0, held: 0 })

  // So are those of them that a later scan marks.
  const other = await thirtyAbsent()
  await night(other.mirror, 3, customers(6, 100))
  const marked = 'SELECT max(missing_since) AS at FROM customers'
  expect(rowsOf(other.mirror.file, marked)).toEqual([{ at: sqlTime(startedAtMs) }])
})

test('a discarded removal marks no customer, and waits for no decision as long as the same customers are absent', async () => {
  const { mirror, runId } = await thirtyAbsent()

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
  const { mirror, runId } = await thirtyAbsent()
  await mirror.discardRemovals(runId)
  expect(await night(mirror, 3, customers(45, 100))).toMatchObject({ held: 44 })
  expect(await mirror.listHeldRemovals()).toEqual([])

  const { runId: next } = await night(mirror, 4, list)

  expect(await mirror.listHeldRemovals()).toMatchObject([{ runId: next, held }])
  expect(await mirror.approveRemovals(next ?? 0, AT_MS)).toBe(held)
})

test.each<[string, Night]>([
  ['a proven scan', { proof: 'proven' }],
  ['a settled scan', { proof: 'settled' }],
  ['an unproven scan', { proof: 'unproven' }],
  ['a run that failed later', { proof: 'unproven', ending: { status: 'failed', reasons: ['failed'] } }],
  ['a run that was stopped later', { proof: 'unproven', ending: { status: 'interrupted', reasons: ['interrupted'] } }],
])('a held customer that %s receives again is released, and not removed by an approval', async (_, told) => {
  const { mirror, runId } = await thirtyAbsent()

  await night(mirror, 3, customers(21, 100), told)

  expect(await mirror.listHeldRemovals()).toMatchObject([{ runId, held: 20 }])
  expect(await mirror.approveRemovals(runId, AT_MS)).toBe(20)
  expect(fateOf(mirror, 21)).toBe('listed')
})

test.each([false, true])('a held customer that a search finds is released, also in a sample: %s', async (isSample) => {
  const { mirror, runId } = await thirtyAbsent()
  const searched = { confirmed: new Set<string>(), found: new Set([customerId(1)]), isSample }
  const removals = { rule: { after: 1, maxShare: 0.1 }, ...searched }

  const report = await night(mirror, 3, customers(31, 100), { ending: { removals } })

  expect(report).toMatchObject({ proof: 'unproven', reasons: ['contradicted'], held: isSample ? 29 : 0 })
  expect(await mirror.approveRemovals((isSample ? report.runId : runId) ?? 0, AT_MS)).toBe(29)
  expect(fateOf(mirror, 1)).toBe('listed')
})

/** Customers with a phone, of which the first are listed without. */
const without = (count: number, all = 60) => [...customers(1, count, { phone: null }), ...withPhone(count + 1, all)]
/** The same list, of which the first records are rejected. */
const wrapped = (count: number, all = 60) => [...customers(1, count, { address: [] }), ...withPhone(count + 1, all)]
const withPhone = (from: number, to: number) => customers(from, to, { phone: '1' })

const CHANGED = { proof: 'unproven', status: 'complete', reasons: ['shape-changed'] } as const

/** A mirror of customers with a phone, and of another organization whose customers have none. */
const withPhones = (all = 60) =>
  aPlayedMirror(async (mirror) => {
    await night(mirror, 1, withPhone(1, all))
    await night(mirror, 1, customers(1, 2 * all, { phone: null }), { organization: 'globex' })
  }, all)

test.each<[number, number, Night?]>([
  [21, 60],
  [22, 210],
  [21, 60, { ending: { removals: undefined } }],
  [31, 60, { rule: { after: 2, maxShare: 0.5 } }],
])('a field that %d of %d customers lose at once keeps its values, and the run names it', async (many, all, told) => {
  const mirror = await withPhones(all)
  const came = customers(1001, 1010, { phone: null })

  // Those who come are not among those who could lose it.
  for (const list of [without(many, all), [...without(many, all), ...came]]) {
    const report = await night(mirror, list.length > all ? 3 : 2, list, told)
    expect(report).toMatchObject({ ...CHANGED, unchanged: all, missing: 0 })
    const shape = [{ field: 'phone', customers: many, isRejected: false }]
    expect(await mirror.findRun(report.runId ?? 0)).toMatchObject({ certificate: { shape, isWhole: false } })
    expect(phones(mirror)).toBe(all)
  }
  expect(rowsOf(mirror.file, `SELECT * FROM changes WHERE change <> 'added'`)).toEqual([])
})

test.each<[number, number, Night?]>([
  [20, 60],
  [21, 210],
  [30, 60, { rule: { after: 2, maxShare: 0.5 } }],
])(
  'a field that %d of %d customers lose is emptied when the run ends, and each is an update',
  async (few, all, told) => {
    const mirror = await withPhones(all)

    const report = await night(mirror, 2, without(few, all), told)

    expect(report).toMatchObject({ proof: 'proven', updated: few, unchanged: all - few })
    expect(await mirror.findRun(report.runId ?? 0)).toMatchObject({ updated: few, unchanged: all - few })
    expect(phones(mirror)).toBe(all - few)
    expect(valueOf(mirror.file, 'SELECT fields FROM changes WHERE id = ?', customerId(1))).toBe('{"phone":["1",null]}')
    expect(await night(mirror, 3, without(few, all))).toMatchObject({ proof: 'proven', updated: 0, unchanged: all })
    expect(await night(mirror, 4, wrapped(few, all), told)).toMatchObject({ proof: 'proven', rejected: few })
  },
)

test('a field that few customers had, and records that are rejected of new ones, are no sign of another shape', async () => {
  const mirror = await aMirrorOf([...withPhone(1, 30), ...customers(31, 60, { phone: null })])
  const rejected = [...customers(1, 5, { address: [] }), ...customers(1001, 1040, { address: [] })]

  const report = await night(mirror, 2, [...rejected, ...customers(6, 60, { phone: null })])
  expect(report).toMatchObject({ proof: 'proven', rejected: 45, updated: 25 })
})

test('what customers lose before the first complete run is no change of the feed, and the shape is guarded then too', async () => {
  for (const [lost, report] of [
    [5, { proof: 'proven', updated: 5 }],
    [30, CHANGED],
  ] as const) {
    const mirror = await aMirror()
    await night(mirror, 1, withPhone(1, 60), { ending: { status: 'failed', readToEnd: false } })

    expect(await night(mirror, 2, without(lost))).toMatchObject(report)
    expect(rowsOf(mirror.file, 'SELECT * FROM changes')).toEqual([])
  }
})

test('a customer who changes and loses a field in one run is one update, with the lost field behind it in the feed', async () => {
  const mirror = await withPhones()

  const changed = [aCustomer(1, { phone: '1', created_at: null, name: 'B' }), aCustomer(2, { phone: null, name: 'B' })]
  const report = await night(mirror, 2, [...changed, ...withPhone(3, 60)])

  expect(report).toMatchObject({ proof: 'proven', updated: 2, unchanged: 58 })
  const fed = [/^{"name":\[[^\]]*"B"\]}$/, /^{"created_at":/, /^{"name":/, /^{"phone":\["1",null\]}$/]
  const fields = fed.map((text) => ({ change: 'changed', fields: expect.stringMatching(text) }))
  expect(rowsOf(mirror.file, 'SELECT change, fields FROM changes ORDER BY id, seq')).toEqual(fields)
  const kept = `SELECT count(created_at) AS sent, count(CASE WHEN created_at IS NOT NULL THEN created_at_utc END) AS utc,
    count(phone) AS phone FROM customers`
  expect(rowsOf(mirror.file, `${kept} WHERE organization = 'acme'`)).toEqual([{ sent: 59, utc: 59, phone: 59 }])
})

test('many records that are rejected of known customers change the shape, night after night, and no date of reading moves', async () => {
  const mirror = await withPhones()

  for (const n of [2, 3]) {
    const report = await night(mirror, n, wrapped(60))
    expect(report).toMatchObject({ ...CHANGED, rejected: 60 })
    const shape = [{ field: 'address', customers: 60, isRejected: true }]
    expect(await mirror.findRun(report.runId ?? 0)).toMatchObject({ certificate: { shape } })
  }
  const readAt = START_MS + DAY_MS
  const fresh = { readAsOfMs: readAt, provenAsOfMs: readAt, why: ['shape-changed'] }
  expect(await mirror.listFreshness()).toMatchObject([fresh, {}])
})

test('a shape that a person accepts is stored by the next run, and guarded from then on', async () => {
  const mirror = await withPhones()
  await night(mirror, 2, without(60))

  const shape = await mirror.acceptShape('acme', START_MS + 2 * DAY_MS + 1)
  expect(shape).toEqual([{ field: 'phone', customers: 60, isRejected: false }])

  expect(await night(mirror, 3, without(60))).toMatchObject({ proof: 'proven', updated: 60 })
  expect(phones(mirror)).toBe(0)
  await night(mirror, 4, withPhone(1, 60))
  expect(await night(mirror, 5, without(60))).toMatchObject(CHANGED)
  expect(await night(mirror, 6, wrapped(60))).toMatchObject({ ...CHANGED, rejected: 60 })
  await mirror.acceptShape('acme', START_MS + 6 * DAY_MS + 1)
  expect(await night(mirror, 7, wrapped(60))).toMatchObject({ proof: 'proven', rejected: 60 })
})

test('fields that more than half of the customers gain are named on the night they come', async () => {
  const mirror = await aMirrorOf([...customers(1, 40), ...customers(41, 60, { tier: 'old' })])
  const half = customers(1, 30, { tier: 1, score: 2, half: 3 })
  const list = [...half, ...customers(31, 31, { tier: 1, score: 2 }), ...customers(32, 51, { score: 2 })]
  const certified = { ending: { certificate: { proof: 'proven' } } }

  const report = await night(mirror, 2, [...list, ...customers(52, 60)], certified)

  expect(report).toMatchObject({ proof: 'proven', updated: expect.any(Number) })
  expect(await mirror.findRun(report.runId ?? 0)).toMatchObject({ certificate: { newFields: ['score', 'tier'] } })
  const next = await night(mirror, 3, [...list, ...customers(52, 60)], certified)
  expect((await mirror.findRun(next.runId ?? 0))?.certificate).toEqual({ proof: 'proven' })
})

test('a quick run empties no field: the next full run decides', async () => {
  const mirror = await withPhones()

  await quickRun(mirror, 1, without(5))

  expect(phones(mirror)).toBe(60)
  expect(await night(mirror, 2, without(5))).toMatchObject({ proof: 'proven', updated: 5 })
  expect(phones(mirror)).toBe(55)
})

function phones(mirror: Mirror): unknown {
  return valueOf(mirror.file, 'SELECT count(phone) FROM customers')
}
