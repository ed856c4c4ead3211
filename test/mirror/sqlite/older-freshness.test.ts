import Database from 'better-sqlite3'
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { APPLICATION_ID } from '../../../src/mirror/sqlite/opening/file-mark.ts'
import { MINUTE_MS, START_MS } from '../../support/builders.ts'
import { aMirror, aMirrorFile, rowsOf } from '../../support/mirror-file.ts'

test('a mirror of version 4 gains the columns at the end, filled from the runs it has', async () => {
  const file = aMirrorFile()
  const db = new Database(file)
  const old = ['0001-initial', '0002-scan', '0003-remembered-pages', '0004-remembered-rows']
  for (const name of old)
    db.exec(readFileSync(new URL(`../../../src/mirror/sqlite/migrations/${name}.sql`, import.meta.url), 'utf8'))
  const columns = db.prepare('SELECT name FROM pragma_table_info(?)').pluck().all('freshness')
  const run = db.prepare(`INSERT INTO runs (organization, "trigger", started_at, data_as_of, status, proof, reasons)
    VALUES ('acme', 'sync', @at, @at, 'complete', @proof, @reasons)`)
  run.run({ at: '2026-01-04 02:00:00.000', proof: 'proven', reasons: '[]' })
  run.run({ at: '2026-01-05 02:00:00.000', proof: 'unproven', reasons: '["rejected-without-id"]' })
  db.pragma(`application_id = ${APPLICATION_ID}`)
  db.pragma('user_version = 4')
  db.close()

  const mirror = await aMirror(file)

  const now = rowsOf(file, 'SELECT name FROM pragma_table_info(?)', 'freshness').map(({ name }) => name)
  expect(now).toEqual([
    ...columns,
    ...['read_as_of', 'read_age_seconds', 'proven_as_of', 'proven_age_seconds', 'held', 'retired_at'],
  ])
  const [atMs, provenMs] = [START_MS, START_MS - 24 * 60 * MINUTE_MS]
  expect(await mirror.listFreshness()).toMatchObject([
    { readAsOfMs: atMs, provenAsOfMs: provenMs, dataAsOfMs: provenMs, proof: 'proven', held: 0 },
  ])
})
