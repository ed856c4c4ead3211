import { expect, test } from 'vitest'
import { fingerprintWith } from '../../src/model/fingerprint.ts'
import { EMPTY_LIST } from '../../src/model/list-as-read.ts'
import { RowSet } from '../../src/model/row-set.ts'
import type { Mirror } from '../../src/store/mirror.ts'
import type { Run } from '../../src/model/run.ts'
import { KnownList, ListRecorder } from '../../src/sync/list-as-read.ts'
import { makeNight, namesOf, storedNames } from '../support/listed-source.ts'
import { aCustomer, anEnding, customerId, customers, printOf, START_MS, DAY_MS } from '../support/builders.ts'
import { onPostgres } from '../support/mirror-choice.ts'
import { aMirror, rowsOf, tamper, valueOf } from '../support/mirror-file.ts'

test('the list is given back as the last complete run read it, in order, with its oddities and totals', async () => {
  const mirror = await aMirror()
  const odd = aCustomer(2, { created_at: null, note: 'x' })
  await makeNight(mirror, 0, { list: [aCustomer(3), odd, aCustomer(1)] })

  const { list } = await nextRun(mirror)

  expect(Array.from(list.columns.rowIds)).toEqual([1, 2, 3])
  const prints = [aCustomer(3), odd, aCustomer(1)].map((sent) => printOf(printIn(mirror.file), sent))
  expect(Array.from(list.columns.fingerprints)).toEqual(prints)
  expect(list).toMatchObject({ total: 3, later: undefined })
  expect(list.warnings).toEqual([{}, { unknown_field: 1 }])
  expect(Array.from(list.columns.oddities)).toEqual([0, 1, 0])
  expect((await nextRun(mirror, 'globex')).list.columns.rowIds).toHaveLength(0)
})

test('a customer who comes while a list is read stands among those beside him, and not behind all who follow', () => {
  const recorder = new ListRecorder(new KnownList(EMPTY_LIST, { doubted: new RowSet(), written: new RowSet() }))
  const rows = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, at) => from + at)
  for (const [start, rowIds] of [
    [0, rows(1, 10)],
    // 14 came after the windows behind this one were read.
    [6, rows(7, 14)],
    [10, rows(11, 21).filter((row) => row !== 14)],
    [18, rows(20, 28)],
  ] as const)
    recorder.add({ start, size: rowIds.length }, rowIds)

  // Which of two stands first that were never on one page is not known.
  expect([...recorder.next(28).columns.rowIds]).toEqual([...rows(1, 13), 15, 14, ...rows(16, 28)])
})

test('a list that did not change is not written again', async () => {
  const mirror = await aMirror()
  await makeNight(mirror, 0, { list: customers(1, 250) })
  // Where nothing marks a value that was written, a trigger does.
  const noting = `CREATE TRIGGER noting AFTER UPDATE ON list_columns BEGIN INSERT INTO written VALUES (1); END`
  if (!onPostgres) for (const sql of ['CREATE TABLE written (once)', noting]) tamper(mirror.file, sql)
  else tamper(mirror.file, 'CREATE TABLE written AS SELECT md5(fingerprints) AS once FROM list_columns WITH NO DATA')

  await makeNight(mirror, 1, { list: customers(1, 250) })
  expect(rowsOf(mirror.file, 'SELECT 1 FROM written')).toEqual([])
  expect((await nextRun(mirror)).list.columns.rowIds).toHaveLength(250)
  await makeNight(mirror, 2, { list: customers(1, 10) })
  expect((await nextRun(mirror)).list.columns.rowIds).toHaveLength(10)
})

test('a list in two parts comes back as it was read, is ignored without its last one, and leaves none behind when it gets shorter', async () => {
  const mirror = await aMirror()
  await makeNight(mirror, 0, { list: customers(1, 10_003) })
  const parts = () => rowsOf(mirror.file, 'SELECT part, length(row_ids) / 4 AS customers FROM list_columns')
  expect(parts()).toEqual([10_000, 3].map((count, part) => ({ part, customers: count })))
  const { fingerprints } = (await nextRun(mirror)).list.columns
  const print = printIn(mirror.file)
  expect(Array.from(fingerprints)).toEqual(customers(1, 10_003).map((sent) => printOf(print, sent)))
  tamper(mirror.file, 'DELETE FROM list_columns WHERE part = 1')
  expect((await nextRun(mirror)).list.columns.rowIds).toHaveLength(0)
  await makeNight(mirror, 1, { list: customers(1, 3) })
  expect(parts()).toEqual([{ part: 0, customers: 3 }])
})

test.each([
  ['the mark of another reader', `UPDATE lists SET reader = reader || ' loyalty_points'`],
  ['row numbers that are cut off', `UPDATE list_columns SET row_ids = x'01000000'`],
  ['half a row number', `UPDATE list_columns SET row_ids = row_ids || x'01'`],
  ['no comparisons', `UPDATE list_columns SET comparisons = x''`],
  ['no columns', `DELETE FROM list_columns`],
  ['facts that are no JSON', `UPDATE lists SET facts = '{"total":'`],
  ['facts of another kind', `UPDATE lists SET facts = '{"warnings":[{}],"total":"3"}'`],
])('a list with %s is ignored, and the run succeeds', async (_, damage) => {
  const mirror = await aMirror()
  await makeNight(mirror, 0, { list: customers(1, 3) })
  tamper(mirror.file, damage)

  expect((await nextRun(mirror)).list.columns.rowIds).toHaveLength(0)
  await makeNight(mirror, 1, { list: customers(1, 3) })
  expect((await nextRun(mirror)).list.columns.rowIds).toHaveLength(3)
})

test('a run that fails leaves the list as it was, and the customers it wrote are doubted', async () => {
  const mirror = await aMirror()
  await makeNight(mirror, 0, { list: customers(1, 12) })
  const list = [aCustomer(2, { name: 'Renamed' }), aCustomer(70), ...customers(3, 12)]
  await makeNight(mirror, 1, { list, told: { concurrency: 1 }, failAfter: 1 })

  const { list: left, doubted } = await nextRun(mirror)

  expect(Array.from(left.columns.rowIds)).toEqual(customers(1, 12).map((_, place) => place + 1))
  expect([...doubted]).toEqual([2, 13])
})

const COLUMNS = [
  ...['id', 'name', 'username', 'email', 'phone', 'address', 'company_name', 'language', 'timezone', 'created_at'],
  ...['created_at_utc', 'extra', 'organization', 'first_seen_at'],
]

test('customers who are changed by hand in any column are doubted, until a run has read them', async () => {
  const mirror = await aMirror()
  const list = customers(1, COLUMNS.length + 1)
  await makeNight(mirror, 0, { list })
  for (const [at, column] of COLUMNS.entries()) {
    const other = /_utc$|_seen_at$/.test(column) ? '2020-01-01 00:00:00' : '{}'
    tamper(mirror.file, `UPDATE customers SET ${column} = '${other}' WHERE row_id = ${at + 1}`)
  }

  expect([...(await nextRun(mirror)).doubted]).toEqual(COLUMNS.map((_, at) => at + 1))
  await makeNight(mirror, 2, { list })
  expect([...(await nextRun(mirror)).doubted].filter((row) => row <= list.length)).toEqual([])
})

test.each([
  ['deleted', `DELETE FROM customers WHERE row_id = 2`, [2]],
  ['deleted with all others', 'DELETE FROM customers', [1, 2, 3]],
  ['given another row number', 'UPDATE customers SET row_id = 77 WHERE row_id = 2', [2, 77]],
  ['put back as before', `UPDATE customers SET name = 'Before', last_run_id = 1 WHERE row_id = 2`, [2]],
])('a customer that is %s by hand is doubted', async (_, sql, rows) => {
  const mirror = await aMirror()
  await makeNight(mirror, 0, { list: customers(1, 2) })
  const renamed = customers(1, 3).map((record) => ({ ...record, name: 'Renamed' }))
  await makeNight(mirror, 1, { list: renamed })

  tamper(mirror.file, sql)

  expect([...(await nextRun(mirror)).doubted]).toEqual(rows)
})

/** The next run as it starts; it ends at once, as interrupted. */
async function nextRun(mirror: Mirror, organization = 'acme'): Promise<Run> {
  const nowMs = START_MS + 9 * DAY_MS
  const run = await mirror.startRun({ organization, trigger: 'sync', nowMs })
  await mirror.finishRun(run, anEnding({ status: 'interrupted' }), nowMs)
  return run
}

/* Rows that are deleted where no trigger of the mirror notices it, as by a restore of one table or by replication. */

const LIST = customers(1, 45)

test('a run does not end well where customers that it knows from the list are gone, and the next one adds them', async () => {
  const mirror = await aMirror()
  const night = (n: number) => makeNight(mirror, n, { list: LIST, told: { scan: 'chain' } })
  await night(0)
  expect((await night(1)).report).toMatchObject({ proof: 'proven', unchanged: 45 })
  deleteUnnoticed(mirror, [5, 30])

  const [first, second] = [await night(2), await night(3)]

  expect(first.report).toMatchObject({
    ...{ status: 'failed', proof: 'unproven', missing: 0, removed: 0 },
    error: { code: 'replaced', message: expect.stringContaining('sync again') },
  })
  expect(second.report).toMatchObject({ status: 'complete', proof: 'proven', inserted: 2, unchanged: 43 })
  expect(storedNames(mirror)).toEqual(namesOf(LIST))
})

function deleteUnnoticed({ file }: Mirror, numbers: readonly number[]) {
  if (onPostgres) tamper(file, 'ALTER TABLE customers DISABLE TRIGGER USER')
  else tamper(file, 'DROP TRIGGER customers_deleted')
  for (const n of numbers) tamper(file, 'DELETE FROM customers WHERE id = ?', customerId(n))
}

const told = { scan: 'chain', concurrency: 1, removals: { after: 2, maxShare: 0.9 } } as const
const list = customers(1, 30)

const ONE = [aCustomer(98)]

test.each([14, 15].flatMap((place) => [[place, ONE] as const, [place, [...ONE, ...ONE]] as const]))(
  'customers that come to place %i while a list is read stand there in it, one that comes twice too',
  async (place, come) => {
    const mirror = await aMirror()
    const later = list.toSpliced(place, 0, ...come)
    const lists = [list, list, later, later.toSpliced(18, 0, aCustomer(99))]
    await makeNight(mirror, 0, { list: (answered) => lists[Math.min(answered, 3)] ?? [], told })

    const ids = rowsOf(mirror.file, 'SELECT id FROM customers ORDER BY row_id').map(({ id }) => id)
    const { rowIds } = (await nextRun(mirror)).list.columns
    expect(Array.from(rowIds, (rowId) => ids[rowId - 1])).toEqual([...new Set(lists[3]?.map(({ id }) => id))])
  },
)

test('however many kinds of oddities a list has, a customer that is recognized has its own', async () => {
  const mirror = await aMirror()
  const unknown = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`field ${n}`, 1]))
  const many = Array.from({ length: 300 }, (_, n) => aCustomer(n + 1, unknown(n)))
  const night = (n: number) => makeNight(mirror, n, { list: many, told: { scan: 'chain', pageSize: 100 } })

  const [first, second] = [await night(0), await night(1)]

  expect(second.recognized).toBeGreaterThan(200)
  expect(second.report).toMatchObject({ updated: 0, warnings: first.report.warnings })
})

test('a mirror that lost its key takes another one, and knows none of its records by it', async () => {
  const mirror = await aMirror()
  for (const n of [-1, 0]) await makeNight(mirror, n, { list, told })
  const hexKey = () => valueOf(mirror.file, 'SELECT hex(key) FROM fingerprint_key')
  const key = hexKey()
  tamper(mirror.file, 'DELETE FROM fingerprint_key')

  const { recognized, report } = await makeNight(mirror, 1, { list: [...customers(101, 125), ...list], told })

  expect(recognized).toBe(0)
  expect(report).toMatchObject({ proof: 'settled', inserted: 25, updated: 0, missing: 0 })
  expect(hexKey()).toHaveLength(32)
  expect(hexKey()).not.toBe(key)
})

test('a record with the fingerprint of another, made by a writer who knows the key, is not taken for that one', async () => {
  const mirror = await aMirror()
  for (const n of [-1, 0]) await makeNight(mirror, n, { list, told })
  const forged = aCustomer(7, { name: 'Forged' })
  // Every other customer of its page has this fingerprint too.
  const page = customers(1, 10).map((sent) => (sent['id'] === forged['id'] ? sent : forged))
  remember(mirror, page)

  for (const n of [1, 2, 3]) {
    const { report } = await makeNight(mirror, n, { list: list.with(6, forged), told })
    expect(report).toMatchObject({ proof: 'proven', missing: 0, removed: 0, updated: n === 1 ? 1 : 0 })
  }

  expect(valueOf(mirror.file, `SELECT name FROM customers WHERE id = ?`, customerId(7))).toBe('Forged')
})

/** Puts the fingerprints of other records in the place of those of the first customers. */
function remember({ file }: Mirror, records: readonly unknown[]): void {
  const print = printIn(file)
  const forged = Float64Array.from(records, (record) => printOf(print, record))
  const stored = valueOf(file, 'SELECT fingerprints FROM list_columns')
  if (!Buffer.isBuffer(stored)) throw new Error('There are no fingerprints.')
  const rest = stored.subarray(forged.byteLength)
  tamper(file, 'UPDATE list_columns SET fingerprints = ?', Buffer.concat([Buffer.from(forged.buffer), rest]))
}

function printIn(file: string) {
  const key = valueOf(file, 'SELECT key FROM fingerprint_key')
  return fingerprintWith(key instanceof Uint8Array ? key : new Uint8Array())
}
