import { describe, expect, test } from 'vitest'
import { DAY_MS, night, quickRun, scanEnding } from '../../store/nights.ts'
import {
  aCustomer,
  aPage,
  customerId,
  customers,
  MINUTE_MS,
  START_MS,
  type SentRecord,
} from '../../support/builders.ts'
import { exported, aDuckDb, type DuckRow } from '../../support/exported-files.ts'
import { aMirror, mirrorPages, rowsOf, tamper } from '../../support/mirror-file.ts'
import { someOf } from '../../support/seeds.ts'
import { PAGES, blocksIn } from '../../support/documents.ts'
import { type Mirror } from '../../../src/model/mirror.ts'

const HOUR_MS = 60 * MINUTE_MS

describe('a copy and the changes since make the customers of now', () => {
  test('whichever night the copy is of, or quick run after it', async () => {
    const mirror = await aMirror()
    const copies: string[] = []
    const grades = ['proven', 'settled', 'settled', 'unproven', 'settled', 'settled'] as const
    const confirmed = customers(1, 9).map(({ id }) => String(id))
    for (const n of NIGHTS) {
      await night(mirror, n, listOf(n), { proof: grades[n] ?? 'proven', confirmed })
      copies.push(await exported(mirror))
      const came = [aCustomer(10, { name: `Renamed ${n}` }), aCustomer(70 + n), ...(n === 3 ? [aCustomer(3)] : [])]
      await quickRun(mirror, n, came, { gone: [20 + n, 21 + n] })
      copies.push(await exported(mirror))
    }
    const changes = rowsOf(mirror.file, 'SELECT DISTINCT change FROM changes ORDER BY 1')
    expect(changes.map(({ change }) => change)).toEqual(['added', 'changed', 'removed', 'returned'])
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

  test.each([
    ['set back meanwhile', 9 * DAY_MS, [2 * DAY_MS]],
    ['set back in the night after', 9 * DAY_MS, [9 * DAY_MS + 3 * HOUR_MS, 2 * DAY_MS]],
    ['three hours behind that of the other machine', 9 * DAY_MS - 3 * HOUR_MS, [9 * DAY_MS]],
  ])(
    'with an organization whose first list was read while the copy was taken, by a clock that was %s',
    async (_, startedMs, ends) => {
      const mirror = await aMirror()
      await night(mirror, 0, listOf(0))
      let monotonicMs = 0
      const start = { organization: 'globex', trigger: 'sync', monotonicMs: () => monotonicMs } as const
      const first = await mirror.startRun({ ...start, nowMs: START_MS + startedMs })
      await mirror.savePages(first, [aPage(1, customers(101, 110))], START_MS + startedMs)
      await mirrorPages(mirror, [listOf(1)], { atMs: START_MS + 9 * DAY_MS + HOUR_MS, ending: scanEnding({}) })
      const copy = await exported(mirror)
      monotonicMs = 3 * HOUR_MS
      const [endedMs = 0, nextMs] = ends
      await mirror.finishRun(first, scanEnding({}), START_MS + endedMs)
      if (nextMs !== undefined) await night(mirror, nextMs / DAY_MS, customers(101, 110), { organization: 'globex' })

      await expectJoined(mirror, copy)
    },
  )

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

test('what was deleted from the mirror itself is found by the documented check', async () => {
  const mirror = await aMirror()
  await night(mirror, 0, listOf(0))
  const copy = await aCopy(await exported(mirror))
  tamper(mirror.file, 'DELETE FROM customers WHERE id = ?', customerId(1))
  const changes = await exported(mirror, { changesSince: copy.lastSeq })
  await copy.apply(changes)

  expect(await copy.differing(changes)).toEqual([{ organization: 'acme', active_customers: '56', customers: '57' }])
})

/** The statements of docs/read/exports.md: what takes a copy, what applies changes to it, and what checks it. */
const [TAKE = '', APPLY = '', CHECK = ''] = PAGES.filter(({ name }) => name === 'docs/read/exports.md')
  .flatMap((page) => blocksIn(page, 'duckdb'))
  .filter(({ heading }) => heading === 'A copy and its changes')
  .map(({ text }) => text)

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

/** The active customers, as a copy has them. */
function activeIn(mirror: Pick<Mirror, 'file'>): DuckRow[] {
  return comparable(rowsOf(mirror.file, 'SELECT * FROM active_customers ORDER BY organization, id'))
}

/** Compares the copy and the changes since with the customers of now. */
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

/** The nights of which there is a copy. */
const NIGHTS = [0, 1, 2, 3, 4, 5]
