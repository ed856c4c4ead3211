import Database from 'better-sqlite3'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { openDatabase } from '../../../src/mirror/sqlite/opening/database.ts'
import { APPLICATION_ID } from '../../../src/mirror/sqlite/opening/file-mark.ts'
import { LATEST_VERSION } from '../../../src/mirror/sqlite/opening/migrate.ts'
import { rehearseMirror } from '../../../src/mirror/mirror.ts'
import { openToExport } from '../../../src/reading/export/open-to-export.ts'
import { listRecordedRuns } from '../../../src/reading/publish/recorded-runs.ts'
import { aCustomer, anEnding, customerId, customers, START_MS } from '../../support/builders.ts'
import { aMirror, aMirrorFile, dump, mirrorPages, rowsOf, tamper, valueOf } from '../../support/mirror-file.ts'
import { fillTemporaryFolder } from '../../support/room-to-sort.ts'
import { someOf } from '../../support/seeds.ts'
import { fateOf, night } from '../nights.ts'

const NEW_MIRROR = fileURLToPath(new URL('../../../src/mirror/sqlite/new-mirror.sql', import.meta.url))
const FOLDER = new URL('../../../src/mirror/sqlite/migrations/', import.meta.url)
const MIGRATIONS = readdirSync(FOLDER).toSorted()
const VERSIONS = MIGRATIONS.map((_, index) => index + 1)
const AT = '2026-01-04 02:00:00.000'

test('every migration has a number of its own', () => {
  expect(MIGRATIONS.map((name) => Number(name.slice(0, 4)))).toEqual(VERSIONS)
  expect(VERSIONS).toHaveLength(LATEST_VERSION)
})

test('what a new mirror is made of is what the migrations make, table by table and row by row', async () => {
  const migrated = new Database(anOldMirror(LATEST_VERSION))
  const statements = statementsOf(migrated)
  const made = new Database(':memory:').exec(statements)

  expect(contentsOf(made)).toEqual(contentsOf(migrated))
  await expect(statements).toMatchFileSnapshot(NEW_MIRROR)
  for (const db of [migrated, made]) db.close()
})

test.each(someOf(VERSIONS))('a mirror of version %d has the schema of a new one once it is opened', async (version) => {
  const mirror = await aMirror(anOldMirror(version))

  expect(schemaOf(mirror.file)).toEqual(schemaOf((await aMirror()).file))
  expect(rowsOf(mirror.file, 'PRAGMA foreign_key_check')).toEqual([])
  expect(valueOf(mirror.file, 'PRAGMA integrity_check')).toBe('ok')
})

test.each(someOf(VERSIONS.slice(0, -1), { every: 5 }))(
  'a mirror of version %d has the dictionary of a new one once a copy is published of it, or an export made',
  async (version) => {
    const described = 'SELECT * FROM dictionary ORDER BY "table", "column"'
    const [toPublish, toExport] = [anOldMirror(version), anOldMirror(version)]

    listRecordedRuns(toPublish)
    openToExport(toExport).close()

    const expected = rowsOf((await aMirror()).file, described)
    expect(expected.length).toBeGreaterThan(100)
    expect(rowsOf(toPublish, described)).toEqual(expected)
    expect(rowsOf(toExport, described)).toEqual(expected)
  },
)

test.each(someOf(VERSIONS, { every: 5 }))(
  'a mirror of version %d is opened although views of it were dropped by hand',
  async (version) => {
    const file = anOldMirror(version, (db) => {
      const views = db.prepare<[], string>(`SELECT name FROM sqlite_schema WHERE type = 'view'`).pluck().all()
      for (const view of views) db.exec(`DROP VIEW "${view}"`)
    })

    expect(schemaOf((await aMirror(file)).file)).toEqual(schemaOf((await aMirror()).file))
  },
)

test.each(someOf(VERSIONS.filter((version) => version < 7)))(
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

test.each(someOf(VERSIONS, { every: 5 }))(
  'a mirror of version %d is brought up to date with the views that someone added to it',
  async (version) => {
    const added = `CREATE VIEW mine AS SELECT id FROM customers;
    CREATE VIEW yours AS SELECT COUNT(*) AS count FROM active_customers;
    CREATE VIEW ours AS SELECT status, proof FROM runs;
    CREATE VIEW theirs AS SELECT organization, last_status FROM freshness`
    const mirror = await aMirror(anOldMirror(version, (db) => db.exec(added)))
    await night(mirror, 0, customers(1, 3))

    expect(rowsOf(mirror.file, 'SELECT id FROM mine')).toHaveLength(3)
    expect(valueOf(mirror.file, 'SELECT count FROM yours')).toBe(3)
    expect(rowsOf(mirror.file, 'SELECT * FROM ours')).toEqual([{ status: 'complete', proof: 'proven' }])
    expect(rowsOf(mirror.file, 'SELECT * FROM theirs')).toEqual([{ organization: 'acme', last_status: 'complete' }])
  },
)

test.each(someOf(VERSIONS.slice(0, -1), { every: 5 }))(
  'a mirror of version %d keeps the indexes and the triggers that someone added to its tables',
  async (version) => {
    const added = `CREATE INDEX mine ON customers (name);
      CREATE INDEX yours ON runs (status);
      CREATE TABLE noted (id);
      CREATE TRIGGER noting AFTER INSERT ON runs BEGIN INSERT INTO noted VALUES (NEW.id); END;
      CREATE TRIGGER noting_customers AFTER INSERT ON customers BEGIN INSERT INTO noted VALUES (NEW.id); END`
    const mirror = await aMirror(anOldMirror(version, (db) => db.exec(added)))
    await night(mirror, 0, customers(1, 3))

    const names = `SELECT name FROM sqlite_schema WHERE type = 'index' AND name IN ('mine', 'yours')`
    expect(rowsOf(mirror.file, names)).toHaveLength(2)
    expect(rowsOf(mirror.file, 'SELECT * FROM noted')).toHaveLength(4)
  },
)

test.each([
  [6, 'customers'],
  [12, 'runs'],
])(
  'a mirror of version %d is left as it is where someone added a column to %s, which is written anew',
  async (version, table) => {
    const file = anOldMirror(version, (db) => {
      fillRuns(db)
      db.exec(`ALTER TABLE ${table} ADD COLUMN remark TEXT; UPDATE ${table} SET remark = 'kept'`)
    })

    await expect(aMirror(file)).rejects.toMatchObject({
      code: 'mirror-foreign',
      message: expect.stringMatching(`the column "remark" of ${table} that someone added.*drop it, and try again`),
    })
    expect(rowsOf(file, `SELECT DISTINCT remark FROM ${table}`)).toEqual([{ remark: 'kept' }])
    tamper(file, `ALTER TABLE ${table} DROP COLUMN remark`)
    await aMirror(file)
  },
)

test('a column that someone added to a table that stays is kept', async () => {
  const { file } = await aMirror(
    anOldMirror(14, (db) =>
      db.exec('ALTER TABLE customers ADD COLUMN remark TEXT; ALTER TABLE runs ADD COLUMN remark TEXT'),
    ),
  )

  expect(rowsOf(file, 'SELECT customers.remark, runs.remark FROM customers, runs')).toEqual([])
})

test.each(someOf(VERSIONS, { every: 5 }))(
  'a mirror of version %d keeps every run, column by column, and what refers to one',
  async (version) => {
    const file = anOldMirror(version, fillRuns)
    const tables = ['runs', 'changes', 'rejects', ...(version >= 2 ? ['held_removals'] : [])]
    const before = dump(file, tables)
    expect(before['runs']).toHaveLength(10)

    const mirror = await aMirror(file)

    const after = dump(file, tables)
    for (const [table, rows] of Object.entries(before)) {
      expect(after[table], table).toEqual(rows.map((row) => expect.objectContaining(row)))
    }
    expect(rowsOf(file, 'SELECT DISTINCT last_run_id FROM customers ORDER BY 1')).toMatchObject([
      { last_run_id: 1 },
      { last_run_id: 9 },
    ])
    expect(rowsOf(file, 'PRAGMA foreign_key_check')).toEqual([])
    const run = await mirror.startRun({ organization: 'acme', trigger: 'sync', isQuick: true, nowMs: START_MS })
    expect(run.id).toBe(12)
    await mirror.finishRun(run, anEnding({ status: 'partial', proof: 'settled', trustedPages: 7 }), START_MS)
    expect(await mirror.findRun(12)).toMatchObject({ status: 'partial', proof: 'settled', trustedPages: 7 })
    expect(rowsOf(file, 'SELECT id FROM runs WHERE trusted_pages IS NOT NULL')).toEqual([{ id: 12 }])
  },
)

test.each(someOf(VERSIONS.slice(0, -1), { every: 5 }))(
  'a mirror of version %d is migrated although the folder for temporary files is full',
  (version) => {
    const file = anOldMirror(version, fillRuns)
    fillTemporaryFolder(/CREATE (UNIQUE )?INDEX/)

    openDatabase(file, 'read').close()

    expect(valueOf(file, 'PRAGMA user_version')).toBe(LATEST_VERSION)
    expect(valueOf(file, 'SELECT COUNT(*) FROM customers')).toBe(2)
  },
)

test.each(someOf(VERSIONS, { every: 5 }))(
  'a rehearsal leaves a mirror of version %d as it is, and counts what the real run would do',
  async (version) => {
    const file = anOldMirror(version, (db) => {
      fillRuns(db)
      db.exec('ALTER TABLE customers ADD COLUMN remark TEXT')
    })
    const before = readFileSync(file)

    const rehearsal = await rehearseMirror(file, ['acme'], { withLists: true })
    const report = await mirrorPages(rehearsal, [customers(1, 10)])
    await rehearsal.close()

    expect(report).toMatchObject({ status: 'complete', received: 10, inserted: 8 })
    expect(readFileSync(file).equals(before)).toBe(true)
    expect(readdirSync(dirname(file))).toEqual(['customers.db'])
  },
)

test.each(['status', 'proof'])('no run can have another %s than those there are', async (column) => {
  const { file } = await aMirror(anOldMirror(12, fillRuns))

  expect(() => tamper(file, `UPDATE runs SET ${column} = 'other'`)).toThrow('CHECK')
  expect(() => tamper(file, `UPDATE runs SET ${column} = NULL`)).toThrow('NOT NULL')
})

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

const STATUSES = ['complete', 'failed', 'interrupted']
const PROOFS = ['proven', 'converged', 'unproven']

/** Ten runs with a value in each column, numbered to 10; there was an eleventh. Customers, a change and a reject refer to some. */
function fillRuns(db: Database.Database): void {
  const columns = db.prepare<[], { name: string; type: string }>('PRAGMA table_info(runs)').all()
  const insert = db.prepare(`INSERT INTO runs (${columns.map(({ name }) => `"${name}"`).join(', ')})
    VALUES (${columns.map(() => '?').join(', ')})`)
  for (let id = 1; id <= 11; id += 1) {
    const known: Record<string, unknown> = {
      id,
      resumed_from: id > 1 ? id - 1 : null,
      organization: 'acme',
      error: null,
      trusted_pages: null,
    }
    Object.assign(known, {
      status: STATUSES[id % 3],
      proof: PROOFS[id % 3],
      certificate: id > 5 ? `{"passes":${id}}` : null,
    })
    insert.run(columns.map(({ name, type }, place) => (name in known ? known[name] : VALUES[type]?.(100 * id + place))))
  }
  db.exec('DELETE FROM runs WHERE id = 11')
  const updatedAt = db.prepare(`SELECT 1 FROM pragma_table_info('customers') WHERE name = 'updated_at'`).get()
  const [column, value] = updatedAt === undefined ? ['', ''] : [', updated_at', `, '${AT}'`]
  for (const run of [1, 9])
    db.exec(`INSERT INTO customers (organization, id, first_seen_at, changed_at, last_run_id${column})
      VALUES ('acme', '${customerId(run)}', '${AT}', '${AT}', ${run}${value})`)
  db.exec(`INSERT INTO changes (run_id, organization, id, change, at) VALUES (9, 'acme', '${customerId(1)}', 'changed', '${AT}');
    INSERT INTO rejects (run_id, organization, record_key, page, position, payload, reasons, first_seen_at, seen_at)
    VALUES (3, 'acme', 'key', 1, 0, '{}', '[]', '${AT}', '${AT}')`)
  if (hasTable(db, 'held_removals')) db.exec("INSERT INTO held_removals VALUES ('acme', 1, 2)")
}

const VALUES: Record<string, (n: number) => unknown> = {
  INTEGER: (n) => n,
  TEXT: (n) => `["${n}"]`,
  DATETIME: (n) => `2026-01-04 02:00:00.${String(n % 1000).padStart(3, '0')}`,
}

function hasTable(db: Database.Database, name: string): boolean {
  return db.prepare('SELECT 1 FROM sqlite_schema WHERE name = ?').get(name) !== undefined
}

/** The schema and all rows. */
function contentsOf(db: Database.Database): unknown {
  const schema = db
    .prepare<[], Record<string, unknown>>('SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name')
    .all()
  const tables = schema.filter(({ type }) => type === 'table').map(({ name }) => String(name))
  return { schema, rows: tables.map((name) => [name, db.prepare(`SELECT * FROM "${name}"`).all()]) }
}

/** What makes the same tables, indexes, views and triggers as the database has, and the row that it needs. */
function statementsOf(db: Database.Database): string {
  const statements = db
    .prepare<[], string>(
      `SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'
       ORDER BY instr('table index view trigger', type), rowid`,
    )
    .pluck()
    .all()
  return `-- A new mirror, as the migrations leave it. Written by: npx vitest run test/mirror/sqlite/migrations.test.ts --update

${statements.map((sql) => `${sql};`).join('\n\n')}

INSERT INTO last_update (id, updated_at) VALUES (1, '1970-01-01 00:00:00.000');
`
}

function schemaOf(file: string): unknown[] {
  const sql = `SELECT type, name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' ORDER BY type, name`
  return rowsOf(file, sql).map(({ name, sql: text }) => [name, text])
}
