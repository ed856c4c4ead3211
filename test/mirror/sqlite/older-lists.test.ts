import Database from 'better-sqlite3'
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { openMirror } from '../../../src/mirror/mirror.ts'
import { anEnding, customerId, START_MS } from '../../support/builders.ts'
import { aMirror, aMirrorFile, rowsOf, tamper, valueOf } from '../../support/mirror-file.ts'
import { DAY_MS } from '../nights.ts'

test('a mirror with remembered pages is migrated: no list, and the windows of an interrupted run resolved', async () => {
  const versions = ['0001-initial', '0002-scan', '0003-remembered-pages', '0004-remembered-rows']
  const { file, db } = await aMirrorOfVersion(versions)
  const at = '2026-01-05 02:00:00.000'
  db.exec(`INSERT INTO runs (id, organization, "trigger", started_at, data_as_of, status, error_code)
    VALUES (1, 'acme', 'sync', '${at}', '${at}', 'interrupted', 'interrupted')`)
  db.exec(`INSERT INTO customers (row_id, organization, id, first_seen_at, changed_at, last_run_id)
    VALUES (7, 'acme', '${customerId(7)}', '${at}', '${at}', 1)`)
  db.exec(`INSERT INTO remembered_pages VALUES ('acme', 10, 10, '0.1.0', 'd', x'07000000', x'0000000000000000', '{}')`)
  db.exec(`INSERT INTO windows VALUES (1, 0, 10, 10, 30, 3, 0, x'0700000000000000', '["${customerId(8)}"]'),
    (1, 10, 10, 10, 30, 3, 0, NULL, NULL), (1, 20, 10, 10, 30, 3, 0, NULL, NULL)`)
  db.close()

  const opened = await aMirror(file)
  const run = await opened.startRun({ organization: 'acme', trigger: 'sync', nowMs: START_MS, resumeWithinMs: DAY_MS })

  expect(run.list.columns.rowIds).toHaveLength(0)
  const recalled = [...(await opened.recallWindows(run))]
  expect(recalled.map(({ page, rows }) => [page, rows.map(({ id }) => id)])).toEqual([
    [1, [customerId(7), customerId(8)]],
    [2, [customerId(7)]],
  ])
  await opened.finishRun(run, anEnding({ status: 'failed' }), START_MS)
  tamper(file, `UPDATE customers SET name = 'By Hand'`)
  expect(valueOf(file, 'SELECT count(*) FROM edited_customers')).toBe(1)
})

test('a run continues from the windows of a run that the first version left interrupted', async () => {
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
  const unreadable = { createdAt: undefined, rowId: undefined }
  expect([...(await opened.recallWindows(run))]).toEqual([
    { ...told, page: 1, rows: [{ id: customerId(7), createdAt: undefined, rowId: 7 }] },
    {
      ...told,
      page: 2,
      rows: [
        { id: customerId(8), ...unreadable },
        { id: undefined, ...unreadable },
      ],
    },
  ])
  expect([run.seen.has(7), run.rejectedIds.has(customerId(8))]).toEqual([true, true])
})

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
    db.exec(readFileSync(new URL(`../../../src/mirror/sqlite/migrations/${name}.sql`, import.meta.url), 'utf8'))
  db.pragma(`user_version = ${migrations.length}`)
  return { file, db }
}
