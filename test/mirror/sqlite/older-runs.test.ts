import Database from 'better-sqlite3'
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { APPLICATION_ID } from '../../../src/mirror/sqlite/opening/file-mark.ts'
import { openMirror } from '../../../src/mirror/mirror.ts'
import { customerId, customers, START_MS } from '../../support/builders.ts'
import { aMirror, aMirrorFile, dump, mirrorPages, rowsOf, tamper, valueOf } from '../../support/mirror-file.ts'

const AT = '2026-01-05 02:00:00.000'

test('a mirror of the fourth version keeps every run, and everything that refers to one', async () => {
  const file = aMirrorOfVersion4()
  const before = dump(file, ['runs', 'customers', 'changes', 'rejects', 'held_removals'])
  const indexes = () => rowsOf(file, `SELECT sql FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'runs'`)
  const indexesBefore = indexes()

  await (await openMirror(file)).close()

  const after = dump(file, ['runs', 'customers', 'changes', 'rejects', 'held_removals'])
  for (const [table, rows] of Object.entries(before)) {
    // The counts of absences have a table of their own since.
    const kept = rows.map(({ missing_proven: _proven, missing_scans: _scans, ...row }) => row)
    expect(after[table], table).toEqual(kept.map((row) => expect.objectContaining(row)))
  }
  expect(indexes()).toEqual([
    ...indexesBefore,
    { sql: expect.stringContaining('INDEX complete_runs') },
    { sql: expect.stringContaining('INDEX full_runs') },
  ])
  expect(rowsOf(file, 'PRAGMA foreign_key_check')).toEqual([])
  expect(valueOf(file, 'PRAGMA integrity_check')).toBe('ok')
  expect(rowsOf(file, 'SELECT organization, last_run_id, last_status FROM freshness')).toEqual([
    { organization: 'acme', last_run_id: 3, last_status: 'failed' },
  ])
  expect(
    rowsOf(file, `SELECT name FROM sqlite_schema WHERE name LIKE 'runs_before' OR name LIKE 'runs_numbered'`),
  ).toEqual([])
})

test('the number of a deleted run is not used again', async () => {
  const file = aMirrorOfVersion4()
  const mirror = await aMirror(file)

  const run = await mirror.startRun({ organization: 'acme', trigger: 'sync', nowMs: START_MS })

  expect(run.id).toBe(10)
})

test('a mirror of the fourth version without a run is brought up to date too', async () => {
  const mirror = await aMirror(aMirrorOfVersion4({ empty: true }))

  expect(await mirrorPages(mirror, [customers(1, 3)])).toMatchObject({ runId: 1, status: 'complete' })
})

test('rows that refer to a run are still held to it once the mirror is open', async () => {
  const mirror = await aMirror(aMirrorOfVersion4())
  await mirrorPages(mirror, [customers(1, 3)])

  expect(() => tamper(mirror.file, `DELETE FROM runs WHERE id = 1`)).toThrow('FOREIGN KEY')
})

/** A mirror as the fourth version left it; its runs are 1 to 3, and there was a ninth. */
function aMirrorOfVersion4({ empty = false } = {}): string {
  const file = aMirrorFile()
  const db = new Database(file)
  for (const name of ['0001-initial', '0002-scan', '0003-remembered-pages', '0004-remembered-rows'])
    db.exec(readFileSync(new URL(`../../../src/mirror/sqlite/migrations/${name}.sql`, import.meta.url), 'utf8'))
  db.pragma('user_version = 4')
  db.pragma(`application_id = ${APPLICATION_ID}`)
  if (!empty) db.exec(ROWS)
  db.close()
  return file
}

const ROWS = `
  INSERT INTO runs (id, organization, "trigger", started_at, finished_at, status, proof, reasons, requests, pages, received,
    inserted, updated, unchanged, duplicates, rejected, missing, removed, returned, held, throttled, waited_ms, warnings,
    data_as_of, certificate)
  VALUES (1, 'acme', 'schedule', '${AT}', '${AT}', 'complete', 'proven', '[]', 12, 10, 15, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11,
    '{"odd":1}', '${AT}', '{"passes":1}');
  INSERT INTO runs (id, organization, "trigger", started_at, status, data_as_of, error_code, error, resumed_from)
  VALUES (2, 'acme', 'sync', '${AT}', 'interrupted', '${AT}', 'interrupted', 'stopped', NULL),
    (3, 'acme', 'sync', '${AT}', 'failed', '${AT}', 'rate-limited', 'told to wait', 2),
    (9, 'acme', 'sync', '${AT}', 'failed', '${AT}', 'network', 'gone', NULL);
  DELETE FROM runs WHERE id = 9;
  INSERT INTO customers (row_id, organization, id, first_seen_at, changed_at, last_run_id)
  VALUES (7, 'acme', '${customerId(7)}', '${AT}', '${AT}', 1), (8, 'acme', '${customerId(8)}', '${AT}', '${AT}', 3);
  INSERT INTO changes (run_id, organization, id, change, at) VALUES (1, 'acme', '${customerId(7)}', 'added', '${AT}');
  INSERT INTO rejects (run_id, organization, record_key, page, position, payload, reasons, first_seen_at, seen_at)
  VALUES (1, 'acme', 'key', 1, 0, '{}', '[]', '${AT}', '${AT}');
  INSERT INTO held_removals VALUES ('acme', 8, 1);
  INSERT INTO leases (organization, run_id, holder, expires_at_ms) VALUES ('acme', 3, 'nobody', 0);`
