import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { ORGANIZATION_TABLES } from '../../src/store/organizations.ts'
import { customers } from '../support/builders.ts'
import { sqliteAlone } from '../support/mirror-choice.ts'
import { aMirror, dump, rowsOf } from '../support/mirror-file.ts'
import { night } from './nights.ts'
import {
  aMirrorWithEverything,
  CLOCKS,
  contentsOf,
  countsOf,
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
