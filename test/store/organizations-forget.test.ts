import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { ORGANIZATION_TABLES } from '../../src/store/organizations.ts'
import { night } from './nights.ts'
import { aMirrorWithEverything, CLOCKS, contentsOf, countsOf, organizationsOf } from './organizations.ts'
import { aCustomer, customers } from '../support/builders.ts'
import { sqliteAlone } from '../support/mirror-choice.ts'
import { aMirror, dump, rowsOf, tamper, valueOf } from '../support/mirror-file.ts'
import { storedText } from '../support/mirror-reader.ts'

test('nothing is left of it: no row in any table, and no byte in the file or beside it', async () => {
  const mirror = await aMirrorWithTraces()
  const { file } = mirror
  expect(holds(file, TRACE)).toBe(true)
  const others = contentsOf(file, 'acme')

  expect(await (await organizationsOf(file)).forget('initrode', CLOCKS)).toBe(true)

  expect(holds(file, TRACE)).toBe(false)
  expect(holds(file, 'initrode')).toBe(false)
  expect(Object.values(countsOf(file, 'initrode')).every((count) => count === 0)).toBe(true)
  expect(contentsOf(file, 'acme')).toEqual(others)
  expect(rowsOf(file, 'PRAGMA foreign_key_check')).toEqual([])
  expect(valueOf(file, 'PRAGMA integrity_check')).toBe('ok')
})

test('an organization with rows in every table leaves none in any, and another one keeps all of its own', async () => {
  const { file } = await aMirrorWithEverything()
  tamper(file, `INSERT INTO retired_organizations VALUES ('acme', '2026-01-01 00:00:00.000')`)
  const others = contentsOf(file, 'acme-two')
  const schema = rowsOf(file, 'SELECT name, sql FROM sqlite_schema ORDER BY name')

  expect(await (await organizationsOf(file)).forget('acme', CLOCKS)).toBe(true)

  expect(countsOf(file, 'acme')).toEqual(Object.fromEntries(ORGANIZATION_TABLES.map((table) => [table, 0])))
  expect(contentsOf(file, 'acme-two')).toEqual(others)
  expect(rowsOf(file, 'SELECT name, sql FROM sqlite_schema ORDER BY name')).toEqual(schema)
  expect(rowsOf(file, 'PRAGMA foreign_key_check')).toEqual([])
})

test('the other organizations go on from the nights before', async () => {
  const mirror = await aMirrorWithTraces()

  await (await organizationsOf(mirror.file)).forget('initrode', CLOCKS)

  expect(await night(mirror, 10, customers(100, 140))).toMatchObject({ unchanged: 41, inserted: 0, proof: 'proven' })
})

test('it is refused while a run has the organization, and nothing is changed', async () => {
  const mirror = await aMirrorWithTraces()
  await mirror.startRun({ organization: 'initrode', trigger: 'sync', nowMs: CLOCKS.nowMs })
  const before = dump(mirror.file)

  await expect((await organizationsOf(mirror.file)).forget('initrode', CLOCKS)).rejects.toMatchObject({
    code: 'leased',
  })
  expect(dump(mirror.file)).toEqual(before)
})

test.skipIf(sqliteAlone.driver).each([
  ['in the middle of the deletes', 'INSERT INTO unfinished_forgets', true],
  ['before the file is written anew', 'VACUUM', false],
])(
  'a process that is killed %s leaves all of it or a note, and a second one does the rest',
  async (_, sql, isWhole) => {
    const { file } = await aMirrorWithTraces()
    const before = contentsOf(file, 'initrode')

    const { signal } = spawnSync(process.execPath, ['--input-type=module', '--eval', KILLED, file, sql])

    expect(signal).toBe('SIGKILL')
    const organizations = await organizationsOf(file)
    expect(await organizations.isUnfinished('initrode')).toBe(!isWhole)
    expect(contentsOf(file, 'initrode')['customers']).toEqual(isWhole ? before['customers'] : [])
    expect(await organizations.forget('initrode', CLOCKS)).toBe(true)
    expect(holds(file, TRACE)).toBe(false)
  },
)

const MODULE = (path: string) => JSON.stringify(new URL(path, import.meta.url).href)

/** Ends as soon as it is about to run that statement. */
const KILLED = `
  import { openDatabase } from ${MODULE('../../src/store/sqlite/open-database.ts')}
  import { openFile } from ${MODULE('../../src/store/sqlite/open-file.ts')}
  import { organizationsIn } from ${MODULE('../../src/store/organizations.ts')}
  import { sqliteStore } from ${MODULE('../../src/store/port/sqlite-store.ts')}
  const [file, last] = process.argv.slice(-2)
  const db = openDatabase(file, 'write')
  for (const name of ['exec', 'prepare']) {
    const own = db[name].bind(db)
    db[name] = (sql) => sql.startsWith(last) ? process.kill(process.pid, 'SIGKILL') : own(sql)
  }
  await organizationsIn(sqliteStore(db, file, { place: openFile(file) })).forget('initrode', ${JSON.stringify(CLOCKS)})
`

/** Stands in every field of a customer, and in what the mirror noted of it. */
const TRACE = 'trace-of-initrode'

/** Whether the text stands anywhere in the file. */
const holds = (file: string, text: string) => storedText(file).includes(text)

/** A mirror with acme, and with initrode, whose customers were renamed, removed and rejected under this trace. */
async function aMirrorWithTraces() {
  const mirror = await aMirror()
  const organization = 'initrode'
  const list = (name: string) => [
    ...customers(1, 40).map((_, n) => aCustomer(n + 1, { name: `${TRACE} ${name} ${n}`, note: `${TRACE} extra` })),
    { id: 'no UUID', note: `${TRACE} rejected` },
  ]
  await night(mirror, 0, customers(100, 140))
  for (const [n, name] of ['first', 'second', 'third'].entries()) await night(mirror, n, list(name), { organization })
  await night(mirror, 4, list('fourth').slice(2), { organization })
  await night(mirror, 5, list('fifth').slice(2), { organization })
  return mirror
}
