import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { execPath } from 'node:process'
import { text as textOf } from 'node:stream/consumers'
import Database from 'better-sqlite3'
import { expect, test } from 'vitest'
import { openMirror, openMirrorToRead, rehearseMirror } from '../../../src/store/mirror.ts'
import { text } from '../../../src/store/port/sql.ts'
import { sqliteStore } from '../../../src/store/port/sqlite-store.ts'
import type { Session } from '../../../src/store/port/store.ts'
import { openDatabase, openFile } from '../../../src/store/sqlite/open-database.ts'
import { LEASE_MS } from '../../../src/store/refusals.ts'
import { customers, START_MS } from '../../support/builders.ts'
import { heldPipe } from '../../support/failing-disk.ts'
import {
  aMirror,
  aMirrorFile,
  aMirrorOfFive,
  mirrorPages,
  tamper,
  valueOf,
  temporaryFolder,
} from '../../support/mirror-file.ts'

test('the file and what SQLite puts beside it are private, and so are the folders made for them', async () => {
  const file = join(temporaryFolder(), 'made', 'for it', 'customers.db')
  const mirror = await aMirror(file)
  await mirrorPages(mirror, [customers(1, 10)])

  expect(readdirSync(dirname(file)).toSorted()).toEqual(['customers.db', 'customers.db-shm', 'customers.db-wal'])
  for (const name of readdirSync(dirname(file))) expect(modeOf(join(dirname(file), name))).toBe('600')
  expect(modeOf(dirname(file))).toBe('700')
  expect(modeOf(dirname(dirname(file)))).toBe('700')
})

test('a mirror that its owner closed to writing stays closed', async () => {
  const file = aMirrorFile()
  await aMirrorOfFive(file)
  chmodSync(file, 0o444)
  // Root may write it all the same.
  await openMirror(file).then(
    (mirror) => mirror.close(),
    () => {},
  )
  expect(modeOf(file)).toBe('400')
})

test.each([
  ['a mirror', aMirrorOfFive, 5],
  ['an empty file, which becomes a mirror,', async (file: string) => writeFileSync(file, ''), 2],
])('%s that others could read is made private, with what SQLite puts beside it', async (_, make, stored) => {
  const file = aMirrorFile()
  await make(file)
  chmodSync(file, 0o644)

  await mirrorPages(await aMirror(file), [customers(1, 2)])

  expect(valueOf(file, 'SELECT count(*) FROM customers')).toBe(stored)
  for (const name of [file, `${file}-wal`, `${file}-shm`]) expect(modeOf(name)).toBe('600')
})

const OPENINGS = [openMirror, openMirrorToRead, (file: string) => rehearseMirror(file, ['acme'])]

test.each<[what: string, code: string, make: (file: string) => void | Promise<void>]>([
  ['text', 'foreign', (file) => writeFileSync(file, 'name,email\nAda,ada@example.com\n'.repeat(50))],
  ['zeros', 'foreign', (file) => writeFileSync(file, Buffer.alloc(8192, 1))],
  ['another SQLite file', 'foreign', (file) => makeSqlite(file, 'CREATE TABLE notes (text)')],
  ["another program's SQLite file", 'foreign', (file) => makeSqlite(file, 'PRAGMA application_id = 7')],
  ['a mirror with a damaged first page', 'damaged', (file) => aDamagedMirror(file, 100, 4096)],
  ['a mirror that is damaged behind it', 'damaged', (file) => aDamagedMirror(file, 4096, 40_960)],
])('%s is refused as %s, and left as it is', async (_, code, make) => {
  const file = aMirrorFile()
  await make(file)
  chmodSync(file, 0o640)
  const before = readFileSync(file)

  const message = expect.stringMatching(new RegExp(`^${RegExp.escape(file)}: .+[.)]$`))
  for (const open of OPENINGS) await expect(open(file)).rejects.toMatchObject({ name: 'MirrorUnusable', code, message })
  expect(readFileSync(file).equals(before)).toBe(true)
  expect(modeOf(file)).toBe('640')
})

test('a pipe in the place of the mirror is refused before anything is touched, as a device is', async () => {
  const file = aMirrorFile()
  heldPipe(file)
  chmodSync(file, 0o666)

  const message = `${file}: is a pipe or a device. It is not a mirror of ours, and was left as it is; name another file.`
  for (const open of OPENINGS) await expect(open(file)).rejects.toMatchObject({ code: 'foreign', message })
  expect(modeOf(file)).toBe('666')
  expect(readdirSync(dirname(file))).toEqual(['customers.db'])
})

function modeOf(path: string): string {
  return (statSync(path).mode & 0o777).toString(8)
}

function makeSqlite(file: string, sql: string): void {
  const db = new Database(file)
  db.exec(sql)
  db.close()
}

async function aDamagedMirror(file: string, from: number, to: number): Promise<void> {
  await aMirrorOfFive(file)
  const bytes = readFileSync(file)
  bytes.fill(0xff, from, to)
  writeFileSync(file, bytes)
}

test('a lease from before the machine started anew lasts a minute by the wall clock, whatever the monotonic one says', async () => {
  const mirror = await aMirror()
  const start = { organization: 'acme', trigger: 'sync' } as const
  const startAt = (afterMs: number, monotonicMs: number) =>
    mirror.startRun({ ...start, nowMs: START_MS + afterMs, monotonicMs: () => monotonicMs })
  await startAt(0, 5000)
  tamper(mirror.file, `UPDATE leases SET boot = 'another'`)

  await expect(startAt(LEASE_MS - 1, 5000 + LEASE_MS)).rejects.toMatchObject({ code: 'leased' })
  await expect(startAt(LEASE_MS, 5000)).resolves.toBeDefined()
})

test('the keys of an index are sorted in files, and in memory where that fails', async () => {
  const file = aMirrorFile()
  const db = openDatabase(file, 'write')
  const store = sqliteStore(db, file, { place: openFile(file) })
  const places: unknown[] = []
  const sort = async (session: Session) => {
    places.push(...Object.values((await session.first<object>(text('PRAGMA temp_store'))) ?? {}))
    if (places.length === 1) throw new Error('no room')
  }
  await store.write(sort, { sorting: true })
  await store.close()

  expect(places).toEqual([1, 2])
})

test('a mirror that another program is making is missing or there, never a file of another program', async () => {
  const folder = temporaryFolder()
  const files = Array.from({ length: 30 }, (_, number) => join(folder, `${number}.db`))
  const args = ['--input-type=module', '--eval', OPEN_EACH, ...files]
  const reader = spawn(execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const said = textOf(reader.stdout)
  await once(reader.stdout, 'readable')

  for (const file of files) await (await openMirror(file)).close()

  expect(JSON.parse((await said).trim())).toEqual(['missing'])
})

/** Opens each of the files that it is given as soon as it is there, and prints which codes the errors until then had. */
const OPEN_EACH = `
  const { openMirrorToRead } = await import(${JSON.stringify(new URL('../../../src/store/mirror.ts', import.meta.url))})
  const codes = new Set()
  const open = (file) => openMirrorToRead(file).catch((error) => void codes.add(error.code))
  await open(process.argv[1])
  process.stdout.write(' ')
  for (const file of process.argv.slice(1)) {
    let mirror
    while (mirror === undefined) mirror = await open(file)
    await mirror.close()
  }
  process.stdout.write(JSON.stringify([...codes]))`
