import Database from 'better-sqlite3'
import { readFileSync } from 'node:fs'
import { expect, onTestFinished, test } from 'vitest'
import { openMirror, rehearseMirror, type Mirror } from '../../src/mirror/mirror.ts'
import { sortPage } from '../../src/sort-page.ts'
import type { RememberedPage } from '../../src/remembered-page.ts'
import type { Fingerprint } from '../../src/fingerprint.ts'
import {
  aCustomer,
  anEnding,
  aSourcePage,
  customers,
  customerId,
  START_MS,
  type SentRecord,
} from '../support/builders.ts'
import { aMirror, aMirrorFile, rowsOf, tamper, valueOf } from '../support/mirror-file.ts'
import { DAY_MS } from './nights.ts'

const PAGE = { page: 1, size: 10 }

test('a page is recalled as it came, by the next run, under its own number and size', async () => {
  const mirror = await aMirror()
  const odd = aCustomer(2, { created_at: null, note: 'x' })
  await aNight(mirror, [aCustomer(1), aCustomer(3), odd])

  const recalled = await recalledBy(mirror)

  expect(recalled?.whole).toEqual({
    digest: 'digest',
    rowIds: [1, 2, 3],
    ends: [{ id: customerId(1), createdAt: '2024-01-02T03:04:05.000000Z' }, { id: customerId(2) }],
    neighbours: expect.objectContaining({ ties: 1, steps: 1, undated: true }),
    warnings: [{ unknown_field: 1 }],
  })
  const marks = [aCustomer(1), aCustomer(3), odd].map(await fingerprintOf(mirror))
  expect(recalled?.rows()).toEqual([
    { rowId: 1, fingerprint: marks[0], warnings: undefined },
    { rowId: 2, fingerprint: marks[1], warnings: undefined },
    { rowId: 3, fingerprint: marks[2], warnings: { unknown_field: 1 } },
  ])
  for (const other of [
    { page: 2, size: 10 },
    { page: 1, size: 9 },
  ])
    expect(listed(await recalledBy(mirror, other))).toEqual([])
  expect(await recalledBy(mirror, PAGE, 'globex')).toBeUndefined()
})

test('what another version of the program remembered is not recalled', async () => {
  const mirror = await aMirror()
  await aNight(mirror, customers(1, 3))
  tamper(mirror.file, `UPDATE remembered_pages SET program = program || '-next'`)

  expect(listed(await recalledBy(mirror))).toEqual([])
})

test('once many on a page are strangers, customers are found on the pages around by their records', async () => {
  const mirror = await aMirror()
  const marks = customers(1, 10).map(await fingerprintOf(mirror))
  await aNight(mirror, customers(1, 10))
  await aNight(mirror, [aCustomer(2, { name: 'Renamed' })], { page: 2, ending: { status: 'failed' } })

  const run = await mirror.startRun({ organization: 'acme', trigger: 'sync', nowMs: START_MS + DAY_MS })
  const found: (number | undefined)[][] = []
  for (const page of [8, 9]) {
    const recalled = await mirror.recallPage(run, { page, size: 10 })
    found.push(marks.map((mark) => recalled?.findMoved(mark)?.rowId))
  }

  const few = marks.slice(0, 8).map(() => undefined)
  expect(found).toEqual([
    [...few, 9, 10],
    [1, undefined, 3, 4, 5, 6, 7, 8, 9, 10],
  ])
})

test('a page with a record that was rejected is not remembered, nor one that contradicts itself', async () => {
  for (const list of [
    [aCustomer(1), { name: 'Nobody' }],
    [aCustomer(1), aCustomer(1, { name: 'Renamed' })],
  ]) {
    const mirror = await aMirror()
    await aNight(mirror, list)
    expect(valueOf(mirror.file, 'SELECT count(*) FROM remembered_pages')).toBe(0)
  }
})

test('a run that completes forgets the pages it has not seen, and one that fails does not', async () => {
  const mirror = await aMirror()
  await aNight(mirror, customers(1, 3))
  await aNight(mirror, customers(4, 6), { page: 2, ending: { status: 'failed' } })
  expect(valueOf(mirror.file, 'SELECT group_concat(start) FROM remembered_pages')).toBe('0,10')

  await aNight(mirror, customers(4, 6), { page: 2 })

  expect(valueOf(mirror.file, 'SELECT group_concat(start) FROM remembered_pages')).toBe('10')
})

test('after a run that failed nobody is recalled whom it wrote, and the others are', async () => {
  const mirror = await aMirror()
  await aNight(mirror, customers(1, 3))
  await aNight(mirror, [aCustomer(2, { name: 'Renamed' })], { page: 2, ending: { status: 'failed' } })

  const recalled = await recalledBy(mirror)

  expect(recalled?.whole).toBeUndefined()
  expect(listed(recalled)).toEqual([1, 3])
})

test.each([
  ...['id', 'name', 'username', 'email', 'phone', 'address', 'company_name', 'language', 'timezone', 'created_at'],
  ...['created_at_utc', 'extra', 'organization'],
])('whoever changes the %s of a customer by hand has the pages of its organization forgotten', async (column) => {
  const mirror = await aMirror()
  await aNight(mirror, customers(1, 3))
  await aNight(mirror, customers(11, 13), { organization: 'globex' })

  tamper(mirror.file, `UPDATE customers SET ${column} = '{}' WHERE row_id = 2`)

  expect(rowsOf(mirror.file, 'SELECT organization FROM remembered_pages')).toEqual([{ organization: 'globex' }])
})

test.each([
  ['deletes one', `DELETE FROM customers WHERE row_id = 2`],
  ['deletes all', 'DELETE FROM customers'],
  ['numbers one anew', 'UPDATE customers SET row_id = 77 WHERE row_id = 2'],
  [
    'puts one back as it was at an earlier run',
    `UPDATE customers SET name = 'Before', last_run_id = 1 WHERE row_id = 2`,
  ],
])('whoever %s by hand has the pages of its organization forgotten', async (_, sql) => {
  const mirror = await aMirror()
  await aNight(mirror, customers(1, 2))
  await aNight(
    mirror,
    customers(1, 3).map((record) => ({ ...record, name: 'Renamed' })),
    { night: 1 },
  )
  expect(valueOf(mirror.file, 'SELECT count(*) FROM remembered_pages')).toBe(1)

  tamper(mirror.file, sql)

  expect(valueOf(mirror.file, 'SELECT count(*) FROM remembered_pages')).toBe(0)
})

test('a run that writes a customer forgets no page', async () => {
  const mirror = await aMirror()
  await aNight(mirror, customers(1, 3))
  await aNight(mirror, [aCustomer(2, { name: 'Renamed' }), aCustomer(7)], { page: 2, ending: { status: 'failed' } })

  expect(valueOf(mirror.file, 'SELECT count(*) FROM remembered_pages')).toBe(2)
})

test('a rehearsal remembers nothing of the mirror, and tells the same', async () => {
  const mirror = await aMirror()
  await aNight(mirror, customers(1, 3))
  const rehearsal = await rehearseMirror(mirror.file, ['acme'])
  onTestFinished(() => rehearsal.close())

  expect(await recalledBy(rehearsal)).toBeUndefined()
})

test.each(['records', 'outline'])(
  'what a version remembered as %s is forgotten, and the next run remembers anew',
  async (column) => {
    const { file, db } = await aMirrorOfVersion(['0001-initial', '0002-scan', '0003-remembered-pages'])
    db.exec(`ALTER TABLE remembered_pages RENAME COLUMN records TO ${column}`)
    db.exec(
      `INSERT INTO remembered_pages VALUES ('acme', 0, 10, '0.1.0', 'digest', x'01000000', x'0000000000000000', '{}')`,
    )
    db.close()

    const opened = await aMirror(file)
    expect(valueOf(file, 'SELECT count(*) FROM remembered_pages')).toBe(0)
    await aNight(opened, customers(1, 3))

    expect(listed(await recalledBy(opened))).toEqual([1, 2, 3])
  },
)

test('what was remembered without a key is forgotten, and the mirror has a key from then on', async () => {
  const versions = ['0001-initial', '0002-scan', '0003-remembered-pages', '0004-remembered-rows']
  const { file, db } = await aMirrorOfVersion(versions)
  db.exec(
    `INSERT INTO remembered_pages VALUES ('acme', 0, 10, '0.1.0', 'digest', x'01000000', x'0000000000000000', '{}')`,
  )
  db.close()

  const opened = await aMirror(file)

  expect(valueOf(file, 'SELECT count(*) FROM remembered_pages')).toBe(0)
  expect(valueOf(file, 'SELECT length(key) FROM fingerprint_key')).toBe(16)
  await aNight(opened, customers(1, 3))
  expect(listed(await recalledBy(opened))).toEqual([1, 2, 3])
})

test('the windows of a run that an earlier version left interrupted are gone on from', async () => {
  const { file, db } = await aMirrorOfVersion(['0001-initial', '0002-scan'])
  const at = '2026-01-05 02:00:00.000'
  db.exec(`INSERT INTO runs (id, organization, "trigger", started_at, data_as_of, status, error_code)
    VALUES (1, 'acme', 'sync', '${at}', '${at}', 'interrupted', 'interrupted')`)
  db.exec(`INSERT INTO customers (row_id, organization, id, first_seen_at, changed_at, last_run_id)
    VALUES (7, 'acme', '${customerId(7)}', '${at}', '${at}', 1)`)
  const window = db.prepare('INSERT INTO windows VALUES (1, ?, ?, ?, 12, 2, 0, ?, ?)')
  window.run(2, 10, 10, Buffer.from(Int32Array.of(0, 0).buffer), `["${customerId(8)}",null]`)
  window.run(1, 10, 10, Buffer.from(Int32Array.of(7).buffer), '[]')
  db.close()

  const opened = await aMirror(file)
  const run = await opened.startRun({ organization: 'acme', trigger: 'sync', nowMs: START_MS, resumeWithinMs: DAY_MS })

  const told = { size: 10, perPage: 10, total: 12, lastPage: 2, beyondEnd: false }
  const nobody = { createdAt: undefined, rowId: undefined }
  expect([...(await opened.recallWindows(run))]).toEqual([
    { ...told, page: 1, rows: [{ id: customerId(7), createdAt: undefined, rowId: 7 }] },
    {
      ...told,
      page: 2,
      rows: [
        { id: customerId(8), ...nobody },
        { id: undefined, ...nobody },
      ],
    },
  ])
  expect([run.seen.has(7), run.rejectedIds.has(customerId(8))]).toEqual([true, true])
})

type NightOptions = {
  page?: number
  night?: number
  organization?: string
  ending?: { status?: 'complete' | 'failed' }
}

/** An empty mirror as an earlier version made it. */
async function aMirrorOfVersion(migrations: readonly string[]) {
  const file = aMirrorFile()
  const mirror = await openMirror(file)
  await mirror.close()
  const db = new Database(file)
  for (const { name } of rowsOf(file, `SELECT name FROM sqlite_schema WHERE type = 'view'`))
    db.exec(`DROP VIEW ${String(name)}`)
  db.pragma('foreign_keys = OFF')
  for (const { name } of rowsOf(
    file,
    `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'`,
  )) {
    db.exec(`DROP TABLE ${String(name)}`)
  }
  for (const name of migrations)
    db.exec(readFileSync(new URL(`../../src/mirror/migrations/${name}.sql`, import.meta.url), 'utf8'))
  db.pragma(`user_version = ${migrations.length}`)
  return { file, db }
}

/** A run that received one page, which came with the mark of a page of ten. */
async function aNight(mirror: Mirror, records: readonly SentRecord[], told: NightOptions = {}): Promise<void> {
  const { page = 1, night = 0, organization = 'acme', ending = {} } = told
  const atMs = START_MS + night * DAY_MS
  const run = await mirror.startRun({ organization, trigger: 'sync', nowMs: atMs })
  await mirror.savePages(
    run,
    [sortPage(aSourcePage(page, [...records], { size: 10, digest: 'digest' }), undefined, run.memory.fingerprint)],
    atMs,
  )
  await mirror.finishRun(run, anEnding(ending), atMs)
}

/** What the next run recalls; it ends at once, as interrupted. */
/** The customers of the rows recalled; nobody is known by the page as a whole who is not among them. */
function listed(recalled: RememberedPage | undefined): number[] | undefined {
  const rows = recalled?.rows().map(({ rowId }) => rowId)
  if (recalled?.whole !== undefined) expect(recalled.whole.rowIds).toEqual(rows)
  return rows
}

/** The fingerprint of this mirror, as a run has it. */
async function fingerprintOf(mirror: Mirror): Promise<Fingerprint> {
  const run = await mirror.startRun({ organization: 'acme', trigger: 'sync', nowMs: START_MS })
  await mirror.finishRun(run, anEnding({ status: 'interrupted' }), START_MS)
  return run.memory.fingerprint
}

async function recalledBy(mirror: Mirror, window = PAGE, organization = 'acme') {
  const run = await mirror.startRun({ organization, trigger: 'sync', nowMs: START_MS + DAY_MS })
  const recalled = await mirror.recallPage(run, window)
  await mirror.finishRun(run, anEnding({ status: 'interrupted' }), START_MS + DAY_MS)
  return recalled
}
