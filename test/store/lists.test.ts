import { expect, test } from 'vitest'
import type { Run } from '../../src/model/run.ts'
import type { Mirror } from '../../src/model/mirror.ts'
import { fingerprintWith } from '../../src/model/fingerprint.ts'
import { ListMemory } from '../../src/sync/list-memory.ts'
import { ListRecorder } from '../../src/sync/list-recorder.ts'
import { nextList, withOrder } from '../../src/sync/next-list.ts'
import type { OrderFacts } from '../../src/model/order-facts.ts'
import { sortPage } from '../../src/sync/sorting/read-page.ts'
import { aCustomer, anEnding, aSourcePage, customers, type SentRecord, START_MS } from '../support/builders.ts'
import { printOf } from '../support/json-bytes.ts'
import { onPostgres } from '../support/mirror-choice.ts'
import { aMirror, rowsOf, tamper, valueOf } from '../support/mirror-file.ts'
import { DAY_MS } from './nights.ts'

const fingerprint = fingerprintWith(new Uint8Array(16).fill(7))

test('the list is given back as the last complete run read it, in order, with its windows and oddities', async () => {
  const mirror = await aMirror()
  const odd = aCustomer(2, { created_at: null, note: 'x' })
  await aNight(mirror, [aCustomer(3), odd, aCustomer(1)])

  const { list } = await nextRun(mirror)

  expect(Array.from(list.columns.rowIds)).toEqual([1, 2, 3])
  expect(Array.from(list.columns.fingerprints)).toEqual(
    [aCustomer(3), odd, aCustomer(1)].map((sent) => printOf(fingerprint, sent)),
  )
  expect(list.windows).toEqual([{ place: 0, count: 3, digest: 'digest', outline: '{}' }])
  expect(list.warnings).toEqual([{}, { unknown_field: 1 }])
  expect(Array.from(list.columns.oddities)).toEqual([0, 1, 0])
  expect((await nextRun(mirror, 'globex')).list.columns.rowIds).toHaveLength(0)
})

test('a list of many chunks is given back whole, and what did not change is not written again', async () => {
  const mirror = await aMirror()
  const list = customers(1, 10_000)
  await aNight(mirror, list)
  // Where nothing marks a row that was written, a trigger does.
  const noting = `CREATE TRIGGER noting AFTER UPDATE ON list_chunks BEGIN INSERT INTO written VALUES (new.chunk); END`
  if (!onPostgres) for (const sql of ['CREATE TABLE written (chunk)', noting]) tamper(mirror.file, sql)
  const written = onPostgres ? 'SELECT chunk FROM list_chunks WHERE xmin <> ?::xid' : 'SELECT chunk FROM written'
  const [first] = onPostgres ? rowsOf(mirror.file, 'SELECT DISTINCT xmin::text AS xid FROM list_chunks') : []

  await aNight(mirror, list.with(9000, aCustomer(9001, { name: 'Renamed' })), { night: 1 })

  const wanted = onPostgres ? [String(first?.['xid'])] : []
  expect(rowsOf(mirror.file, written, ...wanted)).toEqual([{ chunk: 2 }])
  expect((await nextRun(mirror)).list.columns.rowIds).toHaveLength(10_000)
  await aNight(mirror, customers(1, 10), { night: 2 })
  expect(valueOf(mirror.file, 'SELECT count(*) FROM list_chunks')).toBe(1)
  expect(Array.from((await nextRun(mirror)).list.columns.rowIds)).toHaveLength(10)
})

test('the list another program stored is not relied on', async () => {
  const mirror = await aMirror()
  await aNight(mirror, customers(1, 3))
  tamper(mirror.file, `UPDATE lists SET reader = reader || ' loyalty_points'`)

  expect((await nextRun(mirror)).list.columns.rowIds).toHaveLength(0)
})

test.each([
  ['a chunk that is gone', 'DELETE FROM list_chunks'],
  ['a chunk that is cut off', `UPDATE list_chunks SET fingerprints = x'00'`],
  ['a chunk without its comparisons', `UPDATE list_chunks SET comparisons = x''`],
  ['more customers than there are', 'UPDATE lists SET customers = 7'],
  ['fewer customers than there are', 'UPDATE lists SET customers = 2'],
])('a list with %s is ignored, and the run succeeds', async (_, sql) => {
  const mirror = await aMirror()
  await aNight(mirror, customers(1, 3))
  tamper(mirror.file, sql)

  expect((await nextRun(mirror)).list.columns.rowIds).toHaveLength(0)
  await aNight(mirror, customers(1, 3), { night: 1 })
  expect((await nextRun(mirror)).list.columns.rowIds).toHaveLength(3)
})

test('what is known of the order is given back with the list, and goes with it', async () => {
  const mirror = await aMirror()
  const order: OrderFacts = { total: 3, cappedAt: 3 }
  await aNight(mirror, customers(1, 3), { order })
  expect((await nextRun(mirror)).list.order).toEqual(order)

  await aNight(mirror, customers(1, 3), { night: 1, order: { total: 4 } })
  expect((await nextRun(mirror)).list.order).toEqual({ total: 4 })

  tamper(mirror.file, 'DELETE FROM lists')
  expect((await nextRun(mirror)).list.order).toEqual({})
})

test('a run that fails leaves the list as it was, and the customers it wrote are doubted', async () => {
  const mirror = await aMirror()
  await aNight(mirror, customers(1, 3))
  await aNight(mirror, [aCustomer(2, { name: 'Renamed' }), aCustomer(7)], { night: 1, ending: { status: 'failed' } })

  const { list, doubted } = await nextRun(mirror)

  expect(Array.from(list.columns.rowIds)).toEqual([1, 2, 3])
  expect([...doubted]).toEqual([2, 4])
})

test.each([
  ...['id', 'name', 'username', 'email', 'phone', 'address', 'company_name', 'language', 'timezone', 'created_at'],
  ...['created_at_utc', 'extra', 'organization', 'first_seen_at'],
])('a customer whose %s is changed by hand is doubted, until a run has read it', async (column) => {
  const mirror = await aMirror()
  await aNight(mirror, customers(1, 3))
  const other = /_utc$|_seen_at$/.test(column) ? '2020-01-01 00:00:00' : '{}'
  tamper(mirror.file, `UPDATE customers SET ${column} = '${other}' WHERE row_id = 2`)

  expect([...(await nextRun(mirror)).doubted]).toEqual([2])
  await aNight(mirror, customers(1, 3), { night: 2 })
  const left = [...(await nextRun(mirror)).doubted].filter((row) => row <= 3)
  expect(left).toEqual([])
})

test.each([
  ['deleted', `DELETE FROM customers WHERE row_id = 2`, [2]],
  ['deleted with all others', 'DELETE FROM customers', [1, 2, 3]],
  ['given another row number', 'UPDATE customers SET row_id = 77 WHERE row_id = 2', [2, 77]],
  ['put back as before', `UPDATE customers SET name = 'Before', last_run_id = 1 WHERE row_id = 2`, [2]],
])('a customer that is %s by hand is doubted', async (_, sql, rows) => {
  const mirror = await aMirror()
  await aNight(mirror, customers(1, 2))
  const renamed = customers(1, 3).map((record) => ({ ...record, name: 'Renamed' }))
  await aNight(mirror, renamed, { night: 1 })

  tamper(mirror.file, sql)

  expect([...(await nextRun(mirror)).doubted]).toEqual(rows)
})

test('an edit while a run reads is for the next run: the list that run leaves does not settle it', async () => {
  const mirror = await aMirror()
  await aNight(mirror, customers(1, 3))
  const edit = () => tamper(mirror.file, `UPDATE customers SET name = 'By Hand' WHERE row_id = 2`)

  await aNight(mirror, customers(1, 3), { night: 1, beforeItEnds: edit })

  expect([...(await nextRun(mirror)).doubted]).toEqual([2])
})

type NightOptions = {
  order?: OrderFacts
  night?: number
  ending?: { status?: 'complete' | 'failed' }
  beforeItEnds?: () => void
}

/** A run that received one page; it leaves the list where it completes. */
async function aNight(mirror: Mirror, records: readonly SentRecord[], told: NightOptions = {}): Promise<void> {
  const { night = 0, ending = {}, beforeItEnds, order } = told
  const atMs = START_MS + night * DAY_MS
  const run = await mirror.startRun({ organization: 'acme', trigger: 'sync', nowMs: atMs })
  const memory = new ListMemory(run.list, run)
  const recorder = new ListRecorder(run.list.warnings)
  const size = records.length
  for (let start = 0; start < size; start += 100) {
    const part = records.slice(start, start + 100)
    const digest = start === 0 ? 'digest' : undefined
    const page = sortPage(aSourcePage(start / 100 + 1, part), undefined, { memory, fingerprint })
    const { pages } = await mirror.savePages(run, [page.sorted], atMs)
    recorder.add({ start, size: 100, digest, outline: '{}' }, pages[0]?.rowIds ?? [], page.marks)
  }
  beforeItEnds?.()
  const before = { list: run.list, isCertain: (row: number) => memory.isCertain(row) }
  const list = withOrder(nextList(recorder, { customers: size, before }), order ?? {})
  await mirror.finishRun(run, anEnding({ ...ending, list }), atMs)
}

/** The next run as it starts; it ends at once, as interrupted. */
async function nextRun(mirror: Mirror, organization = 'acme'): Promise<Run> {
  const nowMs = START_MS + 9 * DAY_MS
  const run = await mirror.startRun({ organization, trigger: 'sync', nowMs })
  await mirror.finishRun(run, anEnding({ status: 'interrupted' }), nowMs)
  return run
}
