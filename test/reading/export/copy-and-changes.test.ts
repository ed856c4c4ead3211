import Database from 'better-sqlite3'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { exportRows } from '../../../src/reading/export/export-rows.ts'
import { parquetFormat } from '../../../src/reading/export/parquet.ts'
import type { Selection } from '../../../src/reading/export/selection.ts'
import type { Mirror } from '../../../src/store.ts'
import { aCustomer, customerId, customers, type SentRecord } from '../../support/builders.ts'
import { blocksIn, PAGES } from '../../support/documents.ts'
import { aDuckDb, type DuckRow } from '../../support/duckdb.ts'
import { aMirror, rowsOf, tamper } from '../../support/mirror-file.ts'
import { someOf } from '../../support/seeds.ts'
import { temporaryFolder } from '../../support/temp-folder.ts'
import { night, quickRun } from '../../mirror/nights.ts'

/** The statements of docs/EXPORTS.md: what takes a copy, what applies changes to it, and what checks it. */
const [TAKE = '', APPLY = '', CHECK = ''] = PAGES.filter(({ name }) => name === 'docs/EXPORTS.md')
  .flatMap((page) => blocksIn(page, 'duckdb'))
  .map(({ text }) => text)

/** Exports as Parquet into a new file, and returns its path. */
async function exported(mirror: Pick<Mirror, 'file'>, selection: Partial<Selection> = {}): Promise<string> {
  const file = join(temporaryFolder(), 'exported.parquet')
  const parts: Uint8Array[] = []
  const db = new Database(mirror.file, { readonly: true })
  try {
    await exportRows(db.defaultSafeIntegers(), {
      selection: { organizations: [], ...selection },
      configured: [],
      format: parquetFormat(),
      to: { write: (chunk) => void parts.push(Buffer.from(chunk)) },
    })
  } finally {
    db.close()
  }
  writeFileSync(file, Buffer.concat(parts))
  return file
}

/** A table of DuckDB that begins as this copy. */
async function aCopy(file: string) {
  const duckdb = await aDuckDb()
  const [create = '', readSeq = ''] = TAKE.replaceAll('copy.parquet', file).trim().split(';\n')
  await duckdb.all(create)
  const [named] = await duckdb.all(readSeq)
  return {
    lastSeq: Number(named?.['last_seq']),
    async apply(changes: string) {
      for (const sql of APPLY.replaceAll('changes.parquet', changes).trim().split(';\n')) await duckdb.all(sql)
    },
    rows: () => duckdb.all('FROM customers ORDER BY organization, id'),
    differing: (changes: string) => duckdb.all(CHECK.replaceAll('changes.parquet', changes)),
  }
}

/** Rows of SQLite or DuckDB, with times and numbers in one form. */
function comparable(rows: readonly DuckRow[]): DuckRow[] {
  const inOneForm = (name: string, value: unknown) => {
    if (value === null) return null
    if (name === 'is_active') return Boolean(value)
    if (name === 'last_run_id') return Number(value)
    if (typeof value !== 'string' || !/_(at|at_utc|since)$/.test(name) || name === 'created_at') return value
    return new Date(`${value.replace('+00', '').replace(' ', 'T')}Z`).toISOString()
  }
  return rows.map((row) =>
    Object.fromEntries(Object.entries(row).map(([name, value]) => [name, inOneForm(name, value)])),
  )
}

function activeIn(mirror: Pick<Mirror, 'file'>): DuckRow[] {
  return comparable(rowsOf(mirror.file, 'SELECT * FROM active_customers ORDER BY organization, id'))
}

async function expectJoined(mirror: Mirror, copyFile: string): Promise<void> {
  const copy = await aCopy(copyFile)
  const changes = await exported(mirror, { changesSince: copy.lastSeq })
  await copy.apply(changes)
  expect(comparable(await copy.rows())).toEqual(activeIn(mirror))
  expect(await copy.differing(changes)).toEqual([])
  await copy.apply(changes)
  expect(comparable(await copy.rows()), 'applied twice').toEqual(activeIn(mirror))
}

/**
 * Six nights of acme: customer 1 changes twice, 2 is removed and returns, 3 is removed, 4 goes missing and comes back, 5 comes
 * and is removed, 6 gets fields that the specification does not know, 7 returns with other values, 8 comes late.
 */
function listOf(n: number): SentRecord[] {
  const rest = customers(10, 60)
  const lists: Record<number, SentRecord[]>[] = [
    {
      1: [aCustomer(1)],
      2: [aCustomer(2)],
      3: [aCustomer(3)],
      4: [aCustomer(4)],
      6: [aCustomer(6)],
      7: [aCustomer(7)],
    },
    { 1: [aCustomer(1, { name: 'Once' })], 3: [aCustomer(3)], 5: [aCustomer(5)], 6: [aCustomer(6, { tier: 1 })] },
    {
      1: [aCustomer(1, { name: 'Once' })],
      4: [aCustomer(4)],
      5: [aCustomer(5)],
      6: [aCustomer(6, { tier: 2, 'ä"': [null] })],
    },
    {
      1: [aCustomer(1, { name: 'Twice', email: null })],
      4: [aCustomer(4)],
      6: [aCustomer(6)],
      7: [aCustomer(7, { phone: 'new' })],
    },
    { 1: [aCustomer(1, { name: 'Twice' })], 2: [aCustomer(2, { name: 'Back' })], 7: [aCustomer(7, { phone: 'new' })] },
    { 1: [aCustomer(1, { name: '' })], 2: [aCustomer(2, { name: 'Back' })], 4: [aCustomer(4)], 8: [aCustomer(8)] },
  ]
  return [...Object.values(lists[n] ?? {}).flat(), ...rest]
}

const NIGHTS = [0, 1, 2, 3, 4, 5]

describe('a copy and the changes since make the customers of now', () => {
  test('whichever night the copy is of', async () => {
    const mirror = await aMirror()
    const copies: string[] = []
    for (const n of NIGHTS) {
      await night(mirror, n, listOf(n))
      copies.push(await exported(mirror))
    }
    const changes = rowsOf(mirror.file, 'SELECT DISTINCT change FROM changes ORDER BY 1')
    expect(changes.map(({ change }) => change)).toEqual(['added', 'changed', 'removed', 'returned'])
    for (const copy of someOf(copies)) await expectJoined(mirror, copy)
  })

  test('also by way of the changes of every night', async () => {
    const mirror = await aMirror()
    await night(mirror, 0, listOf(0))
    const copy = await aCopy(await exported(mirror))
    let { lastSeq } = copy
    for (const n of NIGHTS.slice(1)) {
      await night(mirror, n, listOf(n))
      const changes = await exported(mirror, { changesSince: lastSeq })
      await copy.apply(changes)
      lastSeq = (await aCopy(changes)).lastSeq
      expect(comparable(await copy.rows()), `night ${n}`).toEqual(activeIn(mirror))
    }
  })

  test('with quick runs between the nights, whichever of them the copy is of', async () => {
    const mirror = await aMirror()
    const copies: string[] = []
    const grades = ['proven', 'settled', 'converged', 'unproven', 'settled', 'settled'] as const
    for (const n of NIGHTS) {
      await night(mirror, n, listOf(n), {
        proof: grades[n] ?? 'proven',
        confirmed: customers(1, 9).map(({ id }) => String(id)),
      })
      copies.push(await exported(mirror))
      const came = [aCustomer(10, { name: `Renamed ${n}` }), aCustomer(70 + n), ...(n === 3 ? [aCustomer(3)] : [])]
      await quickRun(mirror, n, came, { gone: [20 + n, 21 + n] })
      copies.push(await exported(mirror))
    }
    const statuses = rowsOf(
      mirror.file,
      'SELECT status, COUNT(*) AS runs, SUM(missing > 0) AS marked FROM runs GROUP BY status',
    )
    expect(statuses).toMatchObject([
      { status: 'complete', runs: 6 },
      { status: 'partial', runs: 6, marked: 6 },
    ])
    for (const copy of someOf(copies, { every: 4 })) await expectJoined(mirror, copy)
  })

  test('with an organization that was first read after the copy, and one of which a part was saved before', async () => {
    const mirror = await aMirror()
    await night(mirror, 0, listOf(0))
    const organization = 'globex'
    const ending = { status: 'failed', readToEnd: false } as const
    await night(mirror, 0, customers(101, 120), { organization, proof: 'unproven', ending })
    await night(mirror, 1, listOf(1))
    const copy = await exported(mirror)
    await night(mirror, 2, customers(101, 140), { organization })
    await night(mirror, 2, customers(201, 205), { organization: 'initech' })
    await expectJoined(mirror, copy)

    await night(mirror, 3, listOf(2))
    await expectJoined(mirror, copy)
    const active = activeIn(mirror).map(({ organization: id }) => id)
    expect([active.filter((id) => id === 'globex').length, active.filter((id) => id === 'initech').length]).toEqual([
      40, 5,
    ])
  })

  test('with a clock that was set back after the copy', async () => {
    const mirror = await aMirror()
    await night(mirror, 8, listOf(0))
    await night(mirror, 9, listOf(1))
    const copy = await exported(mirror)
    await night(mirror, 2, listOf(2))
    await night(mirror, 3, customers(101, 110), { organization: 'globex' })
    await expectJoined(mirror, copy)
  })

  test('of a copy that was taken before there was any change, and of no copy', async () => {
    const mirror = await aMirror()
    await night(mirror, 0, listOf(0))
    const copy = await exported(mirror)
    await night(mirror, 1, customers(101, 110), { organization: 'globex' })
    await expectJoined(mirror, copy)

    await night(mirror, 2, listOf(1))
    await night(mirror, 3, listOf(2))
    const empty = await exported(mirror, { organizations: ['globex'] })
    const all = await aCopy(empty)
    await all.apply(await exported(mirror, { changesSince: 0 }))
    expect(comparable(await all.rows())).toEqual(activeIn(mirror))
  })
})

test('a copy as of a time names the last change that it holds', async () => {
  const mirror = await aMirror()
  for (const n of NIGHTS) await night(mirror, n, listOf(n))
  const [{ at, seq } = {}] = rowsOf(mirror.file, 'SELECT at, MAX(seq) AS seq FROM changes WHERE run_id = 3')

  const copy = await aCopy(await exported(mirror, { asOf: String(at) }))
  expect(copy.lastSeq).toBe(seq)
})

test('what was deleted from the mirror itself is found by the documented check', async () => {
  const mirror = await aMirror()
  await night(mirror, 0, listOf(0))
  const copy = await aCopy(await exported(mirror))
  tamper(mirror.file, 'DELETE FROM customers WHERE id = ?', customerId(1))
  const changes = await exported(mirror, { changesSince: copy.lastSeq })
  await copy.apply(changes)

  expect(await copy.differing(changes)).toEqual([{ organization: 'acme', active_customers: '56', customers: '57' }])
})
