import Database from 'better-sqlite3'
import { copyFileSync, mkdirSync, readdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import {
  attachAnywhere,
  isForWantOfJournals,
  mayWriteBeside,
  openPrivateCopy,
  openReadOnly,
} from '../../../src/mirror/sqlite/opening/unwritable-file.ts'
import { temporaryFolder } from '../../support/temp-folder.ts'

test('a private copy holds what stands in the journal, and leaves the file and its folder as they are', () => {
  const writer = new Database(join(temporaryFolder(), 'written.db'))
  onTestFinished(() => void writer.close())
  writer.exec('PRAGMA journal_mode = WAL; CREATE TABLE customers (id); INSERT INTO customers VALUES (1), (2)')
  const folder = join(temporaryFolder(), 'left')
  mkdirSync(folder)
  const file = join(folder, 'customers.db')
  for (const suffix of ['', '-wal']) copyFileSync(writer.name + suffix, file + suffix)
  const before = statSync(`${file}-wal`).mtimeMs
  const copy = openPrivateCopy(file, 0)
  onTestFinished(() => void copy.close())

  expect(copy.prepare('SELECT COUNT(*) FROM customers').pluck().get()).toBe(2)
  expect(() => copy.exec('DELETE FROM customers')).toThrow(/readonly/)
  expect(readdirSync(folder).toSorted()).toEqual(['customers.db', 'customers.db-wal'])
  expect(statSync(`${file}-wal`).mtimeMs).toBe(before)
})

test('a file that can be read at its place is attached there, and one that is no database is an error as it is', () => {
  const file = join(temporaryFolder(), 'written.db')
  const writer = new Database(file)
  onTestFinished(() => void writer.close())
  writer.exec('PRAGMA journal_mode = WAL; CREATE TABLE customers (id)')
  const db = new Database('')
  onTestFinished(() => void db.close())
  attachAnywhere(db, file, 'mirror')
  writer.exec('INSERT INTO customers VALUES (1)')

  expect(db.prepare('SELECT COUNT(*) FROM mirror.customers').pluck().get()).toBe(1)
  expect(() => attachAnywhere(db, import.meta.filename, 'other')).toThrow(/not a database/)
})

test('a file that is not there is in no place that may be written, and is not opened', () => {
  const file = join(temporaryFolder(), 'absent', 'customers.db')

  expect(mayWriteBeside(file)).toBe(false)
  expect(mayWriteBeside(dirname(dirname(file)))).toBe(true)
  expect(() => openReadOnly(file, 0)).toThrow(/unable to open/)
})

test.each([
  ['SQLITE_CANTOPEN', true],
  ['SQLITE_READONLY_CANTINIT', true],
  ['SQLITE_NOTADB', false],
  ['SQLITE_BUSY', false],
])('%s may be for want of journals: %s', (code, expected) => {
  expect(isForWantOfJournals(new Database.SqliteError('made up', code))).toBe(expected)
  expect(isForWantOfJournals(new Error(code))).toBe(false)
})
