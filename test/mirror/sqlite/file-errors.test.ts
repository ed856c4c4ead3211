import Database from 'better-sqlite3'
import { readFileSync } from 'node:fs'
import { expect, onTestFinished, test } from 'vitest'
import { MirrorUnusable } from '../../../src/errors/errors.ts'
import { openDatabase, writeTransaction } from '../../../src/mirror/sqlite/opening/database.ts'
import { fileError, sqliteError } from '../../../src/mirror/sqlite/opening/file-errors.ts'
import { savePages } from '../../../src/mirror/sqlite/run/pages.ts'
import { startRun } from '../../../src/mirror/sqlite/run/runs.ts'
import { aPage, customers, START_MS } from '../../support/builders.ts'
import { aMirrorFile, valueOf } from '../../support/mirror-file.ts'

const FILE = './data/customers.db'

test.each([
  ['SQLITE_NOTADB', 'mirror-foreign'],
  ['SQLITE_CORRUPT', 'mirror-corrupt'],
  ['SQLITE_CORRUPT_INDEX', 'mirror-corrupt'],
  ['SQLITE_FULL', 'mirror-full'],
  ['SQLITE_READONLY', 'mirror-read-only'],
  ['SQLITE_READONLY_DBMOVED', 'mirror-read-only'],
  ['SQLITE_CANTOPEN', 'mirror-unreadable'],
  ['SQLITE_IOERR_WRITE', 'mirror-full'],
  ['SQLITE_IOERR_READ', 'mirror-unreadable'],
  ['SQLITE_IOERR_SHMSIZE', 'mirror-full'],
  ['SQLITE_BUSY', 'mirror-locked'],
  ['SQLITE_BUSY_SNAPSHOT', 'mirror-locked'],
  ['SQLITE_PROTOCOL', 'mirror-locked'],
])('%s is reported as %s, with the file, the code and the cause', (code, expected) => {
  const cause = new Database.SqliteError('what SQLite says', code)

  const error = sqliteError(cause, FILE)

  expect(error).toBeInstanceOf(MirrorUnusable)
  expect(error).toMatchObject({ code: expected, cause })
  expect(String(error)).toContain(FILE)
  expect(String(error)).toContain(code)
})

test.each([
  ['EACCES', 'mirror-unreadable'],
  ['EPERM', 'mirror-unreadable'],
  ['EROFS', 'mirror-read-only'],
  ['ENOSPC', 'mirror-full'],
  ['EDQUOT', 'mirror-full'],
  ['EIO', 'mirror-full'],
  ['ENOTDIR', 'mirror-unreadable'],
  ['ELOOP', 'mirror-unreadable'],
  ['ENAMETOOLONG', 'mirror-unreadable'],
])('the system error %s is reported as %s', (code, expected) => {
  const cause = Object.assign(new Error(`${code}: what the system says`), { code, syscall: 'open' })

  expect(fileError(cause, FILE)).toMatchObject({ name: 'MirrorUnusable', code: expected, cause })
})

test('other errors stay unchanged', () => {
  const broken = new Database.SqliteError('UNIQUE constraint failed', 'SQLITE_CONSTRAINT_UNIQUE')
  const defect = new TypeError('not a function')

  expect(sqliteError(broken, FILE)).toBe(broken)
  expect(fileError(defect, FILE)).toBe(defect)
})

test('a system error is not taken for one of the file while SQLite writes', () => {
  expect(() => readFileSync('/nowhere/at/all')).toThrow(
    expect.toSatisfy((error: unknown) => sqliteError(error, FILE) === error),
  )
})

test('a full disk keeps nothing of the page that did not fit', () => {
  const file = aMirrorFile()
  const db = openDatabase(file, 'write')
  onTestFinished(() => {
    db.close()
  })
  const run = writeTransaction(db, file, () =>
    startRun(db, { organization: 'acme', trigger: 'sync', nowMs: START_MS }, 'somewhere#1'),
  )
  const save = (page: number, from: number, to: number) => () =>
    savePages(db, run, [aPage(page, customers(from, to))], START_MS)
  writeTransaction(db, file, save(1, 1, 5))
  db.pragma(`max_page_count = ${Number(db.pragma('page_count', { simple: true })) + 2}`)

  expect(() => writeTransaction(db, file, save(2, 6, 600))).toThrow(expect.objectContaining({ code: 'mirror-full' }))

  expect(valueOf(file, 'SELECT count(*) FROM customers')).toBe(5)
  expect(valueOf(file, 'SELECT received FROM runs')).toBe(5)
})
