import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import type { PublishPlan } from '../../../src/copies/publish-plan.ts'
import { PUBLIC_TABLES } from '../../../src/model/public-tables.ts'
import { aMirrorOf, night } from '../../store/nights.ts'
import { aCustomer, aPage, customers, START_MS, DAY_MS } from '../../support/builders.ts'
import { aMirror, rowsOf, valueOf } from '../../support/mirror-file.ts'
import { aMirrorOfNights, aPlan, publishAll } from '../../support/publishing.ts'

const INTERNAL = ['row_id', 'reject_id', 'record_key']

function aCopyOf(mirror: string, overrides: Partial<PublishPlan> = {}) {
  const { copies, leftOut } = publishAll(aPlan(mirror, overrides))
  return { mirror, leftOut, file: copies[0]?.file ?? '', organizations: copies[0]?.organizations }
}

const aCopyOfNights = async () => aCopyOf(await aMirrorOfNights())

test('what is in a copy every public table and view, with its public columns and the rows of the mirror, and ages that go on', async () => {
  const { mirror, file } = await aCopyOfNights()

  expect(PUBLIC_TABLES.length).toBeGreaterThan(5)
  for (const { name, columns } of PUBLIC_TABLES) {
    const published = columns.map((column) => column.name).filter((column) => !INTERNAL.includes(column))
    const shown = published.filter((column) => !column.endsWith('age_seconds')).map((column) => `"${column}"`)
    const sql = `SELECT ${shown.join(', ')} FROM ${name} ORDER BY ${shown.join(', ')}`
    expect(rowsOf(file, 'SELECT name FROM pragma_table_info(?)', name).map((row) => row['name'])).toEqual(published)
    if (name !== 'dictionary') expect(rowsOf(file, sql), name).toEqual(rowsOf(mirror, sql))
    expect(rowsOf(file, `SELECT 1 FROM ${name}`), name).not.toEqual([])
  }
  const age = `(julianday('now') - julianday(read_as_of)) * 86400`
  const right = `SELECT 1 FROM freshness WHERE read_age_seconds > 0 AND abs(read_age_seconds - ${age}) < 60`
  expect(rowsOf(file, right)).toHaveLength(2)
})

test('what is in a copy is sound, typed and has statistics; nothing in it is internal, and SQLite needs no other file to read it', async () => {
  const { file } = await aCopyOfNights()
  const known = [...PUBLIC_TABLES.map(({ name }) => name), 'manifest', 'freshness_as_published']
  const tables = `SELECT name, sql FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%'`

  expect(rowsOf(file, tables).filter(({ name }) => !known.includes(String(name)))).toEqual([])
  const untyped = `SELECT t.name, c.name AS column FROM (${tables}) t, pragma_table_info(t.name) c
    WHERE t.sql LIKE 'CREATE TABLE%' AND c.type = ''`
  expect(rowsOf(file, untyped)).toEqual([])
  expect(valueOf(file, `SELECT count(*) FROM sqlite_schema WHERE type = 'trigger'`)).toBe(0)
  expect(valueOf(file, 'PRAGMA integrity_check')).toBe('ok')
  expect(valueOf(file, 'PRAGMA journal_mode')).toBe('delete')
  expect(rowsOf(file, 'SELECT idx FROM sqlite_stat1').length).toBeGreaterThan(3)
  expect(rowsOf(file, `SELECT 1 FROM pragma_foreign_key_list('customers')`)).toEqual([])
  // The SQLite of a common system cannot parse these, and would open no table at all.
  expect(rowsOf(file, `SELECT 1 FROM sqlite_schema WHERE sql LIKE '%->%' OR sql LIKE '%MATERIALIZED%'`)).toEqual([])
})

test('what is in a copy each table is described column by column, in the dictionary of the copy and for Datasette', async () => {
  const { file } = await aCopyOfNights()
  const namesIn = (sql: string) => rowsOf(file, sql).map(({ name }) => String(name))
  const columns = namesIn(`SELECT t.name || '.' || c.name AS name FROM sqlite_schema t, pragma_table_info(t.name) c
    WHERE t.type IN ('table', 'view') AND t.name NOT LIKE 'sqlite_%' AND t.name <> 'freshness_as_published'`)
  const described = namesIn(`SELECT table_name || '.' || column_name AS name FROM dictionary`)
  const { tables } = JSON.parse(readFileSync(join(dirname(file), 'metadata.json'), 'utf8')).databases.readers
  const shown = Object.entries<{ columns?: object }>(tables).flatMap(([table, { columns: named = {} }]) =>
    Object.keys(named).map((column) => `${table}.${column}`),
  )

  expect(columns).toContain('manifest.sha256_of')
  expect(described.toSorted()).toEqual(columns.toSorted())
  expect(shown.toSorted()).toEqual(columns.toSorted())
  for (const facet of tables.active_customers.facets) expect(shown).toContain(`active_customers.${facet}`)
  expect(tables).toMatchObject({ freshness_as_published: { hidden: true }, sqlite_sequence: { hidden: true } })
})

test('what is in a copy an index serves what readers look for', async () => {
  const mirror = await aMirrorOf(customers(1, 500))
  const { file } = aCopyOf(mirror.file)
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

test('the manifest has runs, proofs, dates and counts of each organization, and says of a run that it is under way', async () => {
  const mirror = await aMirrorOfNights()
  const { startRun, savePages } = await aMirror(mirror)
  const underWay = await startRun({ organization: 'globex', trigger: 'sync', nowMs: START_MS + DAY_MS })
  await savePages(underWay, [aPage(1, [aCustomer(101, { name: 'Renamed' })])], START_MS + DAY_MS)
  const { file, organizations = [] } = aCopyOf(mirror, { organizations: ['acme', 'globex', 'initech'] })
  const manifest = rowsOf(file, 'SELECT * FROM manifest ORDER BY organization')

  expect(manifest).toMatchObject([
    { organization: 'acme', left_out: null, run_id: 4, proof: 'proven', read_as_of: '2026-01-07 02:00:00.000' },
    { organization: 'globex', left_out: null, run_id: 2, proof: 'proven', read_as_of: '2026-01-05 02:00:00.000' },
    { organization: 'initech', left_out: 'never-read', run_id: null, sha256: null, customers: null },
  ])
  const lastSeq = valueOf(mirror, `SELECT MAX(seq) FROM changes WHERE organization = 'acme'`)
  expect(manifest.slice(0, 2)).toMatchObject([
    { customers: 31, active_customers: 30, runs: 3, rejects: 0, last_seq: lastSeq },
    { customers: 1, active_customers: 1, changes: 1, runs: 2, rejects: 1, last_run_id: 5, last_status: 'running' },
  ])
  const published = organizations.map(({ organization, run, customers: rows }) => `${organization} ${run} ${rows}`)
  expect(published).toEqual(['acme 4 31', 'globex 2 1'])
})

test('the manifest its digests are those of what its queries print, in the copy', async () => {
  const odd = ['\u0000\u0001\n\r\t"\\', '“ü”\u{1f600}\u2028', "O'Neil; DROP", '\u007f\u0080', '{"a":1}', ' ']
  const mirror = await aMirrorOf(odd.map((name, index) => aCustomer(index + 1, { name, tags: [name] })))
  await night(mirror, 0, customers(50, 60), { organization: 'globex' })
  const { file } = aCopyOf(mirror.file)

  const manifest = rowsOf(file, 'SELECT * FROM manifest ORDER BY organization')
  expect(manifest.map(({ organization }) => organization)).toEqual(['acme', 'globex'])
  for (const { sha256, sha256_of: sql } of manifest) {
    const lines = rowsOf(file, String(sql)).map((row) => `${String(Object.values(row)[0])}\n`)
    expect(lines.length).toBeGreaterThan(5)
    expect(createHash('sha256').update(lines.join('')).digest('hex')).toBe(sha256)
  }
})

test('an organization that was never read to its end is left out with all its rows, and listed so', async () => {
  const mirror = await aMirrorOf(customers(1, 5))
  const run = await mirror.startRun({ organization: 'globex', trigger: 'sync', nowMs: START_MS })
  await mirror.savePages(run, [aPage(1, [aCustomer(70), { id: 'bad' }])], START_MS)
  const { file, leftOut } = aCopyOf(mirror.file, { organizations: ['acme', 'globex', 'hooli'] })

  expect(leftOut).toEqual(['globex', 'hooli'].map((organization) => ({ organization, reason: 'never-read' })))
  for (const table of ['customers', 'runs', 'rejects', 'changes', 'freshness'])
    expect(rowsOf(file, `SELECT 1 FROM ${table} WHERE organization <> 'acme'`), table).toEqual([])
  expect(rowsOf(file, 'SELECT organization, last_status FROM manifest WHERE left_out NOT NULL')).toEqual([
    { organization: 'globex', last_status: 'running' },
    { organization: 'hooli', last_status: null },
  ])
})
