import Database from 'better-sqlite3'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openDatabase } from '../../../src/mirror/sqlite/opening/database.ts'
import { connect } from '../../../src/mirror/sqlite/opening/connect.ts'
import { fileError } from '../../../src/mirror/sqlite/opening/file-errors.ts'
import { backupError } from '../../../src/reading/backup/backup-error.ts'
import { copyMirror } from '../../../src/reading/backup/copy-mirror.ts'
import { copyError } from '../../../src/reading/publish/copy-error.ts'
import { aMirrorFile } from '../../support/mirror-file.ts'
import { temporaryFolder } from '../../support/temp-folder.ts'

test('a folder that is gone by the time a file in it is opened is reported as SQLite reports it', () => {
  const file = join(temporaryFolder(), 'gone', 'customers.db')
  const failure = caught(() => connect(file))

  expect(failure).toMatchObject({ name: 'SqliteError', code: 'SQLITE_CANTOPEN' })
  expect(fileError(failure, file)).toMatchObject({
    code: 'mirror-unreadable',
    message: expect.stringMatching(/cannot be opened\. Check that this user may .* its folder.*\(SQLITE_CANTOPEN\)$/),
  })
})

test('and so is one into which a mirror is copied', async () => {
  const db = openDatabase(aMirrorFile(), 'write')
  const source = { db, requireUnchanged: () => {}, close: () => db.close() }
  const place = join(temporaryFolder(), 'gone', 'backup.db')
  const copying = copyMirror(source, place, { signal: new AbortController().signal, onProgress: () => {} })

  await expect(copying).rejects.toMatchObject({ name: 'SqliteError', code: 'SQLITE_CANTOPEN' })
  source.close()
})

test('where SQLite cannot make a file beside those that were just made, the disk has no room', () => {
  const failure = new Database.SqliteError('unable to open database file', 'SQLITE_CANTOPEN')

  expect(backupError(failure, 'backup.db')).toMatchObject({ code: 'backup-full' })
  expect(copyError(failure, 'readers.db')).toMatchObject({ code: 'copy-full' })
})

function caught(work: () => unknown): unknown {
  try {
    return work()
  } catch (error) {
    return error
  }
}
