import { chmodSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import Database from 'better-sqlite3'
import { expect, test } from 'vitest'
import { MirrorUnusable } from '../../../src/errors/errors.ts'
import type { Mirror } from '../../../src/model/mirror.ts'
import { openMirror, openMirrorToRead, rehearseMirror } from '../../../src/store/mirror.ts'
import { VERSION } from '../../../src/store/schema/schema.ts'
import { customers, START_MS } from '../../support/builders.ts'
import { heldPipe } from '../../support/failing-disk.ts'
import { aMirror, aMirrorFile, mirrorPages, tamper, valueOf } from '../../support/mirror-file.ts'
import { temporaryFolder } from '../../support/temp-folder.ts'

test.each(['created_at_utc', 'first_seen_at', 'changed_at'])(
  '%s is declared as a time, as readers expect',
  async (name) => {
    const { file } = await aMirror()

    expect(valueOf(file, `SELECT type FROM pragma_table_info('customers') WHERE name = ?`, name)).toBe('DATETIME')
  },
)

test('the file and what SQLite puts beside it are private, and so are the folders made for them', async () => {
  const file = join(temporaryFolder(), 'made', 'for it', 'customers.db')
  const mirror = await aMirror(file)
  await mirrorPages(mirror, [customers(1, 10)])

  expect(readdirSync(dirname(file)).toSorted()).toEqual(['customers.db', 'customers.db-shm', 'customers.db-wal'])
  for (const name of readdirSync(dirname(file))) expect(modeOf(join(dirname(file), name))).toBe('600')
  expect(modeOf(dirname(file))).toBe('700')
  expect(modeOf(dirname(dirname(file)))).toBe('700')
})

test('a mirror that others could read is made private again, with what SQLite puts beside it', async () => {
  const file = aMirrorFile()
  await closed(openMirror(file))
  chmodSync(file, 0o644)

  const mirror = await aMirror(file)
  await mirrorPages(mirror, [customers(1, 2)])

  for (const name of [file, `${file}-wal`, `${file}-shm`]) expect(modeOf(name)).toBe('600')
})

test('an empty file becomes a mirror', async () => {
  const file = aMirrorFile()
  writeFileSync(file, '')

  await mirrorPages(await aMirror(file), [customers(1, 2)])

  expect(valueOf(file, 'SELECT count(*) FROM customers')).toBe(2)
})

const BROKEN: [what: string, code: string, make: (file: string) => void | Promise<void>][] = [
  ['text', 'foreign', (file) => writeFileSync(file, 'name,email\nAda,ada@example.com\n'.repeat(50))],
  ['zeros', 'foreign', (file) => writeFileSync(file, Buffer.alloc(8192, 1))],
  ['another SQLite file', 'foreign', (file) => makeSqlite(file, 'CREATE TABLE notes (text)')],
  ["another program's SQLite file", 'foreign', (file) => makeSqlite(file, 'PRAGMA application_id = 7')],
  ['a newer mirror', 'version', (file) => aBrokenMirror(file, `PRAGMA user_version = ${VERSION + 1}`)],
  ['a mirror whose first page is damaged', 'damaged', (file) => aDamagedMirror(file, 100, 4096)],
]

test('no run starts on a mirror that another version has changed since it was opened', async () => {
  const file = aMirrorFile()
  const mirror = await aMirror(file)
  tamper(file, `PRAGMA user_version = ${VERSION + 1}`)

  const start = mirror.startRun({ organization: 'acme', trigger: 'sync', nowMs: START_MS })

  await expect(start).rejects.toMatchObject({ code: 'version' })
  expect(valueOf(file, 'SELECT count(*) FROM runs')).toBe(0)
})

test.each(BROKEN)('%s is refused as %s, and left as it is', async (_, code, make) => {
  const file = aMirrorFile()
  await make(file)
  chmodSync(file, 0o640)
  const before = readFileSync(file)

  for (const open of [openMirror, openMirrorToRead, (name: string) => rehearseMirror(name, ['acme'])]) {
    const error = await refusalOf(open(file))
    expect(error).toMatchObject({ name: 'MirrorUnusable', code })
    expect(error.message).toMatch(new RegExp(`^${RegExp.escape(file)}: .+[.)]$`))
  }
  expect(readFileSync(file).equals(before)).toBe(true)
  expect(modeOf(file)).toBe('640')
})

test('a pipe in the place of the mirror is refused before anything is touched, as a device is', async () => {
  const file = aMirrorFile()
  heldPipe(file)
  chmodSync(file, 0o666)

  for (const open of [openMirror, openMirrorToRead, (name: string) => rehearseMirror(name, ['acme'])]) {
    const error = await refusalOf(open(file))
    expect(error.code).toBe('foreign')
    expect(error.message).toBe(
      `${file}: is a pipe or a device. It is not a mirror of ours, and was left as it is; name another file as mirror.`,
    )
  }
  expect(modeOf(file)).toBe('666')
  expect(readdirSync(dirname(file))).toEqual(['customers.db'])
})

test('damage found during use is reported as damage, not as an empty mirror', async () => {
  const file = aMirrorFile()
  await closed(openMirror(file), (mirror) => mirrorPages(mirror, [customers(1, 100), customers(101, 200)]))
  damage(file, 4096, statSync(file).size)

  const using = closed(openMirror(file), (mirror) => mirror.listRuns({ limit: 5 }))

  expect(await refusalOf(using)).toMatchObject({ code: 'damaged' })
})

async function closed(opening: Promise<Mirror>, use?: (mirror: Mirror) => Promise<unknown>): Promise<void> {
  const mirror = await opening
  try {
    await use?.(mirror)
  } finally {
    await mirror.close()
  }
}

async function refusalOf(promise: Promise<unknown>): Promise<MirrorUnusable> {
  const error: unknown = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  if (error instanceof MirrorUnusable) return error
  throw new Error('it was not refused as MirrorUnusable', { cause: error })
}

function modeOf(path: string): string {
  return (statSync(path).mode & 0o777).toString(8)
}

function makeSqlite(file: string, sql: string): void {
  const db = new Database(file)
  db.exec(sql)
  db.close()
}

async function aBrokenMirror(file: string, sql: string): Promise<void> {
  await closed(openMirror(file))
  makeSqlite(file, sql)
}

async function aDamagedMirror(file: string, from: number, to: number): Promise<void> {
  await closed(openMirror(file), (mirror) => mirrorPages(mirror, [customers(1, 100)]))
  damage(file, from, to)
}

function damage(file: string, from: number, to: number): void {
  const bytes = readFileSync(file)
  bytes.fill(0xff, from, to)
  writeFileSync(file, bytes)
}
