import { join } from 'node:path'
import { expect, test } from 'vitest'
import { copyChecked } from '../../../src/copies/backup.ts'
import { aMirrorFile } from '../../support/mirror-file.ts'
import { temporaryFolder } from '../../support/temp-folder.ts'
import { openDatabase } from '../../../src/store/sqlite/open-database.ts'
import { connect } from '../../../src/store/sqlite/connect.ts'
import { fileError } from '../../../src/store/port/sqlite-errors.ts'

test('a folder that is gone by the time a file in it is opened is reported as SQLite reports it', () => {
  const file = join(temporaryFolder(), 'gone', 'customers.db')
  const failure = caught(() => connect(file))

  expect(failure).toMatchObject({ name: 'SqliteError', code: 'SQLITE_CANTOPEN' })
  expect(fileError(failure, file)).toMatchObject({
    code: 'denied',
    message: expect.stringMatching(/unable to open database file \(SQLITE_CANTOPEN\)\. Check the name/),
  })
})

test('and so is one into which a mirror is copied', async () => {
  const db = openDatabase(aMirrorFile(), 'write')
  const source = { db, requireUnchanged: () => {}, close: () => db.close() }
  const place = join(temporaryFolder(), 'gone', 'backup.db')
  const copying = copyChecked(
    source,
    place,
    { signal: new AbortController().signal, onProgress: () => {} },
    { unsound: (what) => new Error(what) },
  )

  await expect(copying).rejects.toMatchObject({ name: 'SqliteError', code: 'SQLITE_CANTOPEN' })
  source.close()
})

function caught(work: () => unknown): unknown {
  try {
    return work()
  } catch (error) {
    return error
  }
}
