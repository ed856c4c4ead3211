import Database from 'better-sqlite3'
import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { ORGANIZATION_TABLES } from '../../src/store/organizations.ts'
import { customerId, customers, START_MS } from '../support/builders.ts'
import { sqliteAlone } from '../support/mirror-choice.ts'
import { aMirror, dump, rowsOf, tamper, valueOf } from '../support/mirror-file.ts'
import { DAY_MS, night } from './nights.ts'
import {
  aMirrorWithEverything,
  CLOCKS,
  contentsOf,
  countsOf,
  expectAnotherRunsMeanwhile,
  failBefore,
  organizationsOf,
  tablesByOrganization,
} from './organizations.ts'

const RENAME = { from: 'acme', to: 'acme.eu' }
/** A retirement and a forget that was not finished are states of their own; the lease is one that was left behind. */
const EMPTY_AT_FIRST = ['retired_organizations', 'unfinished_forgets']

test('every table with a column organization is known to the commands that change organizations', async () => {
  expect(tablesByOrganization((await aMirror()).file)).toEqual([...ORGANIZATION_TABLES].toSorted())
})

test('every row of every table has the new name, and nothing else of it differs', async () => {
  const { file } = await aMirrorWithEverything()
  const [before, others] = [contentsOf(file, 'acme'), contentsOf(file, 'acme-two')]
  const lacking = Object.keys(before).filter((table) => before[table]?.length === 0)

  const renamed = await (await organizationsOf(file)).rename(RENAME, CLOCKS)

  // The test is of use only if there is something of each table.
  expect(lacking.toSorted()).toEqual(EMPTY_AT_FIRST)
  expect(contentsOf(file, 'acme.eu')).toEqual({ ...before, leases: [] })
  expect(Object.values(countsOf(file, 'acme')).every((count) => count === 0)).toBe(true)
  expect(contentsOf(file, 'acme-two')).toEqual(others)
  expect(renamed).toEqual({ customers: 60, changes: before['changes']?.length, runs: 5 })
  expect(rowsOf(file, 'PRAGMA foreign_key_check')).toEqual([])
})

test('every customer counts as updated, so that a reader of what changed since the last time gets them all', async () => {
  const mirror = await aMirrorWithEverything()
  const last = valueOf(mirror.file, 'SELECT MAX(updated_at) FROM customers')

  await (await organizationsOf(mirror.file)).rename(RENAME, CLOCKS)

  const moved = 'SELECT organization, COUNT(*) AS rows FROM customers WHERE updated_at > ? GROUP BY organization'
  expect(rowsOf(mirror.file, moved, last)).toEqual([{ organization: 'acme.eu', rows: 60 }])
})

test('a reader that runs the UPDATE has no customer twice after its next look at what changed', async () => {
  const { file } = await aMirrorWithEverything()
  const copied = rowsOf(file, 'SELECT * FROM customers')
  const seen = valueOf(file, 'SELECT MAX(updated_at) FROM customers')

  await (await organizationsOf(file)).rename(RENAME, CLOCKS)
  const updated = copied.map((row) => (row['organization'] === 'acme' ? { ...row, organization: 'acme.eu' } : row))
  const copy = new Map(updated.map((row) => [keyOf(row), row]))
  for (const row of rowsOf(file, 'SELECT * FROM customers WHERE updated_at > ?', seen)) copy.set(keyOf(row), row)

  const byKey = (rows: Iterable<Record<string, unknown>>) =>
    [...rows].toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
  expect(byKey(copy.values())).toEqual(byKey(rowsOf(file, 'SELECT * FROM customers')))
})

const keyOf = ({ organization, id }: Record<string, unknown>) => `${String(organization)} ${String(id)}`

test('a change by hand is noted before and after as ever', async () => {
  const { file } = await aMirrorWithEverything()
  const { edited_customers: before = [] } = contentsOf(file, 'acme')

  await (await organizationsOf(file)).rename(RENAME, CLOCKS)
  tamper(file, `UPDATE customers SET name = 'by hand' WHERE organization = 'acme.eu' AND row_id = 9`)

  const { edited_customers: edited = [] } = contentsOf(file, 'acme.eu')
  expect(new Set(edited.map(({ row_id }) => row_id))).toEqual(new Set([...before.map(({ row_id }) => row_id), 9]))
})

test('the next night goes on from the nights before: who was missing is removed, and no customer is new', async () => {
  const mirror = await aMirror()
  await night(mirror, 0, customers(1, 30))
  await night(mirror, 1, customers(2, 30))

  await (await organizationsOf(mirror.file)).rename(RENAME, CLOCKS)
  const report = await night(mirror, 10, customers(2, 30), { organization: 'acme.eu' })

  expect(report).toMatchObject({ inserted: 0, unchanged: 29, removed: 1 })
  expect(rowsOf(mirror.file, 'SELECT organization, change FROM changes')).toEqual([
    { organization: 'acme.eu', change: 'removed' },
  ])
})

test('an organization may have the new id already where a run under it failed and saved nothing', async () => {
  const mirror = await aMirror()
  await night(mirror, 0, customers(1, 3))
  const failed = { status: 'failed', error: { code: 'tenant-mixup', message: 'refused' } } as const
  await night(mirror, 1, [], { organization: 'acme.eu', ending: failed })

  await (await organizationsOf(mirror.file)).rename(RENAME, CLOCKS)

  expect(rowsOf(mirror.file, 'SELECT id, organization, status FROM runs ORDER BY id')).toEqual([
    { id: 1, organization: 'acme.eu', status: 'complete' },
    { id: 2, organization: 'acme.eu', status: 'failed' },
  ])
  expect(valueOf(mirror.file, `SELECT COUNT(*) FROM customers WHERE organization = 'acme.eu'`)).toBe(3)
})

test.each([
  ['customers', customers(1, 2), {}],
  ['an empty list that was read to its end', [], {}],
  ['rejects only', [null], { ending: { status: 'failed' } as const }],
])('an id that has %s in the mirror is refused, and nothing is changed', async (_, list, told) => {
  const mirror = await aMirrorWithEverything()
  await night(mirror, 5, list, { organization: 'acme.eu', ...told })
  const before = dump(mirror.file)

  await expect((await organizationsOf(mirror.file)).rename(RENAME, CLOCKS)).rejects.toMatchObject({
    code: 'usage',
    message: expect.stringContaining('acme.eu: is in the mirror already'),
  })
  expect(dump(mirror.file)).toEqual(before)
})

test.each(['acme', 'acme.eu'])('it is refused while a run has %s, and nothing is changed', async (organization) => {
  const mirror = await aMirrorWithEverything()
  await mirror.startRun({ organization, trigger: 'sync', nowMs: CLOCKS.nowMs })
  const before = dump(mirror.file)

  await expect((await organizationsOf(mirror.file)).rename(RENAME, CLOCKS)).rejects.toMatchObject({
    code: 'leased',
    message: expect.stringMatching(/^acme(\.eu)?: run \d+ \(process .+\) is mirroring it now, so it cannot be renamed/),
  })
  expect(dump(mirror.file)).toEqual(before)
})

test('a run that was paused for so long that its lease expired can write no more', async () => {
  const mirror = await aMirror()
  const run = await mirror.startRun({ organization: 'acme', trigger: 'sync', nowMs: START_MS })

  await (await organizationsOf(mirror.file)).rename(RENAME, CLOCKS)

  await expect(mirror.renewLease(run, CLOCKS.nowMs + 1)).rejects.toMatchObject({ code: 'leased' })
})

test('a failure in the middle leaves everything as it was, triggers included', async () => {
  const { file } = await aMirrorWithEverything()
  tamper(file, `INSERT INTO retired_organizations VALUES ('acme', '2026-01-01 00:00:00.000')`)
  const said = failBefore(file, 'UPDATE ON retired_organizations')
  const [before, schema] = [contentsOf(file, 'acme'), rowsOf(file, 'SELECT name, sql FROM sqlite_schema')]

  await expect((await organizationsOf(file)).rename(RENAME, CLOCKS)).rejects.toThrow(said)

  expect(contentsOf(file, 'acme')).toEqual(before)
  expect(rowsOf(file, 'SELECT name, sql FROM sqlite_schema')).toEqual(schema)
})

test.skipIf(sqliteAlone.driver)(
  'a process that is killed in the middle leaves everything as it was, and a second one does it all',
  async () => {
    const { file } = await aMirrorWithEverything()
    const [before, schema] = [contentsOf(file, 'acme'), rowsOf(file, 'SELECT name, sql FROM sqlite_schema ORDER BY 1')]

    const { signal } = spawnSync(process.execPath, [
      '--input-type=module',
      '--eval',
      KILLED,
      file,
      JSON.stringify(RENAME),
    ])

    expect(signal).toBe('SIGKILL')
    expect(contentsOf(file, 'acme')).toEqual(before)
    expect(countsOf(file, 'acme.eu')['customers']).toBe(0)
    await (await organizationsOf(file)).rename(RENAME, CLOCKS)
    expect(contentsOf(file, 'acme.eu')).toEqual({ ...before, leases: [] })
    expect(rowsOf(file, 'SELECT name, sql FROM sqlite_schema ORDER BY 1')).toEqual(schema)
  },
)

const MODULE = (path: string) => JSON.stringify(new URL(path, import.meta.url).href)

/** Ends in the middle of the transaction, when every row is written. */
const KILLED = `
  import { openDatabase } from ${MODULE('../../src/store/sqlite/open-database.ts')}
  import { openFile } from ${MODULE('../../src/store/sqlite/open-file.ts')}
  import { organizationsIn } from ${MODULE('../../src/store/organizations.ts')}
  import { sqliteStore } from ${MODULE('../../src/store/port/sqlite-store.ts')}
  const [file, names] = process.argv.slice(-2)
  const db = openDatabase(file, 'write')
  const prepare = db.prepare.bind(db)
  db.prepare = (sql) => sql.startsWith('DELETE FROM unnoticed') ? process.kill(process.pid, 'SIGKILL') : prepare(sql)
  await organizationsIn(sqliteStore(db, file, { place: openFile(file) })).rename(JSON.parse(names), ${JSON.stringify(CLOCKS)})
`

test.skipIf(sqliteAlone.driver)(
  'a reader in a long transaction keeps its view, and the rename does not wait for it',
  async () => {
    const { file } = await aMirrorWithEverything()
    const reader = new Database(file, { readonly: true })
    try {
      const count = reader.prepare(`SELECT COUNT(*) FROM customers WHERE organization = 'acme'`).pluck()
      reader.exec('BEGIN')
      expect(count.get()).toBe(60)

      await (await organizationsOf(file)).rename(RENAME, CLOCKS)

      expect(count.get()).toBe(60)
      reader.exec('COMMIT')
      expect(count.get()).toBe(0)
    } finally {
      reader.close()
    }
  },
)

test('a forgotten customer stays forgotten under the new name', async () => {
  const mirror = await aMirrorWithEverything()

  await (await organizationsOf(mirror.file)).rename(RENAME, CLOCKS)

  const asked = { organization: 'acme.eu', id: customerId(40), ...CLOCKS }
  expect(await mirror.forgetCustomer(asked)).toMatchObject({ wasForgotten: true })
})

test('a retired organization stays retired under its new name', async () => {
  const mirror = await aMirror()
  await night(mirror, 0, customers(1, 3))
  const organizations = await organizationsOf(mirror.file)

  await organizations.retire('acme', CLOCKS)
  await organizations.rename(RENAME, CLOCKS)

  expect(await mirror.listFreshness()).toMatchObject([
    { organization: 'acme.eu', active: 0, removed: 3, retiredAtMs: START_MS + 9 * DAY_MS },
  ])
})

test('a run of another organization goes on meanwhile', async () => {
  const mirror = await aMirrorWithEverything()
  const organizations = await organizationsOf(mirror.file)

  await expectAnotherRunsMeanwhile(mirror, () => organizations.rename(RENAME, CLOCKS))
})
