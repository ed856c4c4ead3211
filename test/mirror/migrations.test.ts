import Database from 'better-sqlite3'
import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { APPLICATION_ID, LATEST_VERSION } from '../../src/mirror/database.ts'
import { aCustomer, customerId, customers } from '../support/builders.ts'
import { aMirror, aMirrorFile, rowsOf, valueOf } from '../support/mirror-file.ts'
import { fateOf, night } from './nights.ts'

const FOLDER = new URL('../../src/mirror/migrations/', import.meta.url)
const MIGRATIONS = readdirSync(FOLDER).toSorted()
const VERSIONS = MIGRATIONS.map((_, index) => index + 1)
const AT = '2026-01-04 02:00:00.000'

test('every migration has a number of its own', () => {
  expect(MIGRATIONS.map((name) => Number(name.slice(0, 4)))).toEqual(VERSIONS)
  expect(VERSIONS).toHaveLength(LATEST_VERSION)
})

test.each(VERSIONS)('a mirror of version %d has the schema of a new one once it is opened', async (version) => {
  const mirror = await aMirror(anOldMirror(version))

  expect(schemaOf(mirror.file)).toEqual(schemaOf((await aMirror()).file))
  expect(rowsOf(mirror.file, 'PRAGMA foreign_key_check')).toEqual([])
  expect(valueOf(mirror.file, 'PRAGMA integrity_check')).toBe('ok')
})

test.each(VERSIONS.filter((version) => version < 7))(
  'a mirror of version %d keeps its customers and their absences, and its next nights go on from them',
  async (version) => {
    const file = anOldMirror(version, (db) => {
      db.exec(`INSERT INTO runs (id, organization, "trigger", started_at, finished_at, data_as_of, status, proof)
        VALUES (1, 'acme', 'sync', '${AT}', '${AT}', '${AT}', 'complete', 'proven')`)
      const insert = db.prepare(`INSERT INTO customers
          (row_id, organization, id, name, first_seen_at, changed_at, missing_since, removed_at, last_run_id)
        VALUES (?, 'acme', ?, ?, '${AT}', '${AT}', ?, ?, 1)`)
      for (let n = 1; n <= 30; n += 1)
        insert.run(
          100 + n,
          customerId(n),
          `Old ${n}`,
          n > 2 ? null : '2026-01-04 03:00:00.000',
          n > 1 ? null : '2026-01-04 04:00:00.000',
        )
      if (version >= 2) db.exec('UPDATE customers SET missing_proven = 1, missing_scans = 1 WHERE row_id = 102')
      db.exec(`INSERT INTO changes (run_id, organization, id, change, at)
        VALUES (1, 'acme', '${customerId(1)}', 'removed', '2026-01-04 04:00:00.000')`)
    })

    const mirror = await aMirror(file)

    const sql = 'SELECT row_id, name, updated_at, is_active FROM customers WHERE row_id <= 103 ORDER BY row_id'
    expect(rowsOf(file, sql)).toEqual([
      { row_id: 101, name: 'Old 1', updated_at: '2026-01-04 04:00:00.000', is_active: 0 },
      { row_id: 102, name: 'Old 2', updated_at: '2026-01-04 03:00:00.000', is_active: 1 },
      { row_id: 103, name: 'Old 3', updated_at: AT, is_active: 1 },
    ])
    expect(valueOf(file, 'SELECT missing_since FROM changes')).toBe('2026-01-04 03:00:00.000')
    expect(rowsOf(file, `SELECT name FROM sqlite_schema WHERE name = 'customers_by_email'`)).toHaveLength(1)
    await night(mirror, 0, [aCustomer(1), ...customers(3, 30)])
    expect([fateOf(mirror, 1), fateOf(mirror, 2)]).toEqual(['listed', version >= 2 ? 'removed' : 'missing'])
    expect(valueOf(file, `SELECT COUNT(*) FROM customers WHERE updated_at > '2026-01-04 04:00:00.000'`)).toBe(
      version >= 2 ? 30 : 29,
    )
  },
)

test.each(VERSIONS)(
  'a mirror of version %d is brought up to date with the views that someone added to it',
  async (version) => {
    const added = `CREATE VIEW mine AS SELECT id FROM customers;
    CREATE VIEW yours AS SELECT COUNT(*) AS count FROM active_customers`
    const mirror = await aMirror(anOldMirror(version, (db) => db.exec(added)))
    await night(mirror, 0, customers(1, 3))

    expect(rowsOf(mirror.file, 'SELECT id FROM mine')).toHaveLength(3)
    expect(valueOf(mirror.file, 'SELECT count FROM yours')).toBe(3)
  },
)

test.each([
  'CREATE TABLE dictionary (word)',
  'CREATE VIEW dictionary AS SELECT 1',
  'CREATE INDEX changes_by_day ON runs (id)',
])('a mirror to which someone added a name that is needed now is left as it is: %s', async (sql) => {
  const file = anOldMirror(6, (db) => db.exec(sql))

  await expect(aMirror(file)).rejects.toMatchObject({
    code: 'mirror-foreign',
    message: expect.stringMatching(/"(dictionary|changes_by_day)" that someone added.*rename or drop/),
  })
  expect(valueOf(file, 'PRAGMA user_version')).toBe(6)
})

function anOldMirror(version: number, fill: (db: Database.Database) => void = () => {}): string {
  const file = aMirrorFile()
  const db = new Database(file)
  for (const name of MIGRATIONS.slice(0, version)) db.exec(readFileSync(new URL(name, FOLDER), 'utf8'))
  fill(db)
  db.pragma(`application_id = ${APPLICATION_ID}`)
  db.pragma(`user_version = ${version}`)
  db.close()
  return file
}

function schemaOf(file: string): unknown[] {
  const sql = `SELECT type, name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' ORDER BY type, name`
  return rowsOf(file, sql).map(({ name, sql: text }) => [name, text])
}
