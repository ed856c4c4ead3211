import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { PUBLIC_TABLES } from '../../../src/model/public-tables.ts'
import { night } from '../../store/nights.ts'
import { aCustomer, anEnding, aPage, customers, START_MS } from '../../support/builders.ts'
import { aMirror, rowsOf, valueOf } from '../../support/mirror-file.ts'
import { aMirrorOfNights, aPlan, aSplitPlan, publishAll, staleCopies } from '../../support/publishing.ts'

const aCopyOfNights = async () => publishAll(aPlan(await aMirrorOfNights())).copies[0]?.file ?? ''
const INTERNAL = ['row_id', 'reject_id', 'record_key']

test('what is in a copy every public table and view, with its public columns and the rows of the mirror', async () => {
  const mirror = await aMirrorOfNights()
  const { file } = publishAll(aPlan(mirror)).copies[0] ?? { file: '' }

  expect(PUBLIC_TABLES.length).toBeGreaterThan(5)
  for (const { name, columns } of PUBLIC_TABLES) {
    const published = columns.map((column) => column.name).filter((column) => !INTERNAL.includes(column))
    const shown = published.filter((column) => !column.endsWith('age_seconds')).map((column) => `"${column}"`)
    const sql = `SELECT ${shown.join(', ')} FROM ${name} ORDER BY ${shown.join(', ')}`
    expect(rowsOf(file, 'SELECT name FROM pragma_table_info(?)', name).map((row) => row['name'])).toEqual(published)
    if (name !== 'dictionary') expect(rowsOf(file, sql), name).toEqual(rowsOf(mirror, sql))
    expect(rowsOf(file, `SELECT 1 FROM ${name}`), name).not.toEqual([])
  }
})

test('what is in a copy there is nothing internal, and every column of a table has a declared type', async () => {
  const file = await aCopyOfNights()
  const known = new Set([...PUBLIC_TABLES.map(({ name }) => name), 'manifest', 'freshness_as_published'])
  const names = rowsOf(
    file,
    `SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%'`,
  )
  const untyped = rowsOf(
    file,
    `SELECT t.name, c.name AS column FROM sqlite_schema t, pragma_table_info(t.name) c
    WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%' AND c.type = ''`,
  )

  expect(names.map(({ name }) => name).filter((name) => !known.has(String(name)))).toEqual([])
  expect(untyped).toEqual([])
  expect(valueOf(file, `SELECT count(*) FROM sqlite_schema WHERE type = 'trigger'`)).toBe(0)
})

test('what is in a copy each table is described column by column, in the dictionary of the copy and for Datasette', async () => {
  const file = await aCopyOfNights()
  const columns = rowsOf(
    file,
    `SELECT t.name || '.' || c.name AS name FROM sqlite_schema t, pragma_table_info(t.name) c
    WHERE t.type IN ('table', 'view') AND t.name NOT LIKE 'sqlite_%' AND t.name <> 'freshness_as_published'`,
  ).map(({ name }) => String(name))
  const described = rowsOf(file, `SELECT table_name || '.' || column_name AS name FROM dictionary`).map(({ name }) =>
    String(name),
  )
  const { tables } = JSON.parse(readFileSync(join(dirname(file), 'metadata.json'), 'utf8')).databases.readers
  const shown = Object.entries<{ columns?: object }>(tables).flatMap(([table, { columns: named = {} }]) =>
    Object.keys(named).map((column) => `${table}.${column}`),
  )

  expect(columns).toContain('manifest.sha256_of')
  expect(described.toSorted()).toEqual(columns.toSorted())
  expect(shown.toSorted()).toEqual(columns.toSorted())
  expect(tables).toMatchObject({ freshness_as_published: { hidden: true }, sqlite_sequence: { hidden: true } })
})

test('what is in a copy it is sound, has statistics, and SQLite needs no other file to read it', async () => {
  const file = await aCopyOfNights()

  expect(valueOf(file, 'PRAGMA integrity_check')).toBe('ok')
  expect(valueOf(file, 'PRAGMA journal_mode')).toBe('delete')
  expect(rowsOf(file, 'SELECT idx FROM sqlite_stat1').length).toBeGreaterThan(3)
  expect(rowsOf(file, `SELECT 1 FROM pragma_foreign_key_list('customers')`)).toEqual([])
  // The SQLite of a common system cannot parse these, and would open no table at all.
  expect(rowsOf(file, `SELECT 1 FROM sqlite_schema WHERE sql LIKE '%->%' OR sql LIKE '%MATERIALIZED%'`)).toEqual([])
})

test('what is in a copy an index serves what readers look for', async () => {
  const mirror = await aMirror()
  await night(mirror, 0, customers(1, 500))
  const { file } = publishAll(aPlan(mirror.file)).copies[0] ?? { file: '' }
  for (const sql of [
    `SELECT * FROM customers WHERE email = 'a'`,
    `SELECT * FROM customers WHERE organization = 'acme' AND language = 'fr'`,
    'SELECT organization, language, COUNT(*) FROM active_customers GROUP BY 1, 2',
    `SELECT * FROM active_customers WHERE organization = 'acme' AND id = 'x'`,
    `SELECT * FROM customers WHERE changed_at > '2027-01-01'`,
    `SELECT * FROM changes WHERE organization = 'acme' AND id = 'x'`,
    'SELECT * FROM changes WHERE seq > 1200 ORDER BY seq',
  ]) {
    const plan = rowsOf(file, `EXPLAIN QUERY PLAN ${sql}`).map(({ detail }) => String(detail))
    expect(plan.join('\n'), sql).toMatch(/USING (COVERING |INTEGER )?(INDEX|PRIMARY KEY)/)
  }
})

test('what is in a copy ages of freshness go on after the copy was made', async () => {
  const file = await aCopyOfNights()
  const odd = rowsOf(
    file,
    `SELECT * FROM freshness WHERE abs(read_age_seconds - (julianday('now') - julianday(read_as_of)) * 86400) > 60`,
  )

  expect(odd).toEqual([])
  expect(rowsOf(file, 'SELECT 1 FROM freshness WHERE read_age_seconds > 0')).toHaveLength(2)
})

test('the manifest has runs, proofs, dates and counts of each organization', async () => {
  const mirror = await aMirrorOfNights()
  const { copies } = publishAll(aPlan(mirror, { organizations: ['acme', 'globex', 'initech'] }))
  const { file = '' } = copies[0] ?? {}
  const manifest = rowsOf(file, 'SELECT * FROM manifest ORDER BY organization')

  expect(manifest).toMatchObject([
    { organization: 'acme', left_out: null, run_id: 4, proof: 'proven', read_as_of: '2026-01-07 02:00:00.000' },
    { organization: 'globex', left_out: null, run_id: 2, proof: 'proven', read_as_of: '2026-01-05 02:00:00.000' },
    { organization: 'initech', left_out: 'never-read', run_id: null, sha256: null },
  ])
  expect(manifest).toMatchObject([
    {
      customers: 31,
      active_customers: 30,
      runs: 3,
      rejects: 0,
      last_seq: valueOf(mirror, 'SELECT MAX(seq) FROM changes'),
    },
    { customers: 1, active_customers: 1, changes: 0, runs: 1, rejects: 1, last_seq: 0 },
    { customers: null },
  ])
  expect(copies[0]?.organizations.map(({ organization, run, customers: rows }) => [organization, run, rows])).toEqual([
    ['acme', 4, 31],
    ['globex', 2, 1],
  ])
})

test('the manifest its digests are those of what its queries print, in the copy', async () => {
  const mirror = await aMirror()
  const odd = ['\u0000\u0001\n\r\t"\\', '“ü”\u{1f600}\u2028', "O'Neil; DROP", '\u007f\u0080', '{"a":1}', ' ']
  await night(
    mirror,
    0,
    odd.map((name, index) => aCustomer(index + 1, { name, tags: [name] })),
  )
  await night(mirror, 0, customers(50, 60), { organization: 'globex' })
  const { file } = publishAll(aPlan(mirror.file)).copies[0] ?? { file: '' }

  const manifest = rowsOf(file, 'SELECT * FROM manifest ORDER BY organization')
  expect(manifest.map(({ organization }) => organization)).toEqual(['acme', 'globex'])
  for (const { sha256, sha256_of: sql } of manifest) {
    const lines = rowsOf(file, String(sql)).map((row) => `${String(Object.values(row)[0])}\n`)
    expect(lines.length).toBeGreaterThan(5)
    expect(createHash('sha256').update(lines.join('')).digest('hex')).toBe(sha256)
  }
})

test('an organization that was never read to its end is left out with all its rows, and listed so', async () => {
  const mirror = await aMirror()
  await night(mirror, 0, customers(1, 5))
  const run = await mirror.startRun({ organization: 'globex', trigger: 'sync', nowMs: START_MS })
  await mirror.savePages(run, [aPage(1, [aCustomer(70), { id: 'bad' }])], START_MS)
  const { copies, leftOut } = publishAll(aPlan(mirror.file, { organizations: ['acme', 'globex', 'hooli'] }))
  const { file = '' } = copies[0] ?? {}

  expect(leftOut).toEqual([
    { organization: 'globex', reason: 'never-read' },
    { organization: 'hooli', reason: 'never-read' },
  ])
  for (const table of ['customers', 'runs', 'rejects', 'changes', 'freshness'])
    expect(rowsOf(file, `SELECT 1 FROM ${table} WHERE organization <> 'acme'`), table).toEqual([])
  expect(rowsOf(file, 'SELECT organization, last_status FROM manifest WHERE left_out NOT NULL')).toEqual([
    { organization: 'globex', last_status: 'running' },
    { organization: 'hooli', last_status: null },
  ])
})

test('a mirror that is written meanwhile a copy made in the middle of a run has the pages saved so far, and says that the run is under way', async () => {
  const mirror = await aMirror()
  await night(mirror, 0, customers(1, 200))
  const run = await mirror.startRun({ organization: 'acme', trigger: 'sync', nowMs: START_MS + 1000 })
  await mirror.savePages(run, [aPage(1, customers(1, 100, { name: 'Renamed' }))], START_MS + 1000)
  const { file } = publishAll(aPlan(mirror.file)).copies[0] ?? { file: '' }

  expect(rowsOf(file, 'SELECT customers, run_id, last_run_id, last_status FROM manifest')).toEqual([
    { customers: 200, run_id: 1, last_run_id: 2, last_status: 'running' },
  ])
  expect(valueOf(file, `SELECT count(*) FROM customers WHERE name = 'Renamed'`)).toBe(100)
  expect(valueOf(file, `SELECT count(*) FROM changes WHERE run_id = 2`)).toBe(100)
  await mirror.savePages(run, [aPage(2, customers(101, 200))], START_MS + 2000)
})

test('a copy is stale split by organization, only the copies that lack a run are made again', async () => {
  const mirror = await aMirror()
  await night(mirror, 0, customers(1, 5))
  await night(mirror, 0, customers(6, 9), { organization: 'globex' })
  const plan = aSplitPlan(mirror.file, { keep: 3 })
  const { copies } = publishAll(plan)
  await night(mirror, 1, customers(6, 9), { organization: 'globex' })
  const stale = staleCopies(plan)

  expect(stale).toEqual(copies.map(({ file }) => file).filter((file) => file.includes('globex')))
  expect(publishAll({ ...plan, only: stale }).copies.map(({ file }) => file)).toEqual(stale)
  expect(staleCopies(plan)).toEqual([])
})

test('a copy is stale while it is missing, lacks a run, or is of the other kind as to personal data', async () => {
  const mirror = await aMirror()
  await night(mirror, 0, customers(1, 5))
  const plan = aPlan(mirror.file)

  expect(staleCopies(plan)).not.toEqual([])
  publishAll(plan)
  expect(staleCopies(plan)).toEqual([])
  expect(staleCopies({ ...plan, withoutPersonalData: true })).not.toEqual([])
  expect(staleCopies(aSplitPlan(mirror.file))).not.toEqual([])
  const run = await mirror.startRun({ organization: 'acme', trigger: 'sync', nowMs: START_MS })
  publishAll(plan)
  expect(staleCopies(plan)).toEqual([])
  await mirror.finishRun(run, anEnding({ status: 'failed' }), START_MS)
  expect(staleCopies(plan)).not.toEqual([])
})

test('a copy is stale while it is of a mirror that was lost, although the one that was begun anew has as many runs', async () => {
  const [lost, mirror] = [await aMirror(), await aMirror()]
  await night(lost, 0, customers(1, 5))
  await night(mirror, 1, customers(2, 6))
  const plan = aPlan(lost.file)
  publishAll(plan)
  const begunAnew = { ...plan, mirror: mirror.file }

  expect(staleCopies(begunAnew)).toEqual([plan.file])
  publishAll(begunAnew)
  expect(staleCopies(begunAnew)).toEqual([])
})
