import Database from 'better-sqlite3'
import { chmodSync, mkdirSync, readdirSync, readFileSync, renameSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { exportCommand } from '../../../src/cli/export.ts'
import { sqlCommand } from '../../../src/cli/sql.ts'
import { APPLICATION_ID } from '../../../src/mirror/sqlite/database.ts'
import { LATEST_VERSION } from '../../../src/mirror/sqlite/migrate.ts'
import { customerId } from '../../support/builders.ts'
import { aMirrorFile, valueOf } from '../../support/mirror-file.ts'
import { makeReadOnly, OTHER_USER, runAsOther } from '../../support/other-user.ts'
import { runCommand } from '../../support/run-command.ts'
import { temporaryFolder } from '../../support/temp-folder.ts'

const MIGRATIONS = new URL('../../../src/mirror/sqlite/migrations/', import.meta.url)

const AT = '2026-01-04 02:00:00.000'

/** A mirror as the first version left it, with one customer. */
function aFirstMirror(): string {
  const file = aMirrorFile()
  const db = new Database(file)
  const [first = ''] = readdirSync(MIGRATIONS).toSorted()
  db.exec(readFileSync(new URL(first, MIGRATIONS), 'utf8'))
  db.exec(`INSERT INTO runs (id, organization, "trigger", started_at, finished_at, data_as_of, status, proof)
    VALUES (1, 'acme', 'sync', '${AT}', '${AT}', '${AT}', 'complete', 'proven');
    INSERT INTO customers (organization, id, name, first_seen_at, changed_at, last_run_id)
    VALUES ('acme', '${customerId(1)}', 'Ada', '${AT}', '${AT}', 1)`)
  db.pragma(`application_id = ${APPLICATION_ID}`)
  db.pragma('user_version = 1')
  db.close()
  return file
}

test('a mirror of an earlier version is brought up to date, and exported with every column', async () => {
  const file = aFirstMirror()
  const { code, stdout } = await runCommand(exportCommand, ['--format', 'jsonl', '--mirror', file])

  expect(code).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({ id: customerId(1), name: 'Ada', updated_at: AT, is_active: true })
  expect(valueOf(file, 'PRAGMA user_version')).toBe(LATEST_VERSION)
})

test('a mirror of an earlier version is left as it is by a statement that needs no more, and brought up to date for one that does', async () => {
  const file = aFirstMirror()

  expect(await runCommand(sqlCommand, ['--mirror', file, '--csv', 'SELECT name FROM customers'])).toMatchObject({
    code: 0,
    stdout: 'name\r\nAda\r\n',
  })
  expect(valueOf(file, 'PRAGMA user_version')).toBe(1)
  expect(await runCommand(sqlCommand, ['--mirror', file, '--csv', 'SELECT name FROM customers_history'])).toMatchObject(
    {
      code: 0,
      stdout: 'name\r\nAda\r\n',
    },
  )
  expect(valueOf(file, 'PRAGMA user_version')).toBe(LATEST_VERSION)
})

describe.skipIf(OTHER_USER === undefined)(
  'a mirror of an earlier version in a folder that this user cannot write',
  () => {
    test.each([
      ['export', '--format', 'csv'],
      ['sql', 'SELECT * FROM customers_history'],
    ])('makes %s say so, and name what to do', async (...args) => {
      const folder = join(temporaryFolder(), 'data')
      mkdirSync(folder)
      chmodSync(dirname(folder), 0o755)
      const file = join(folder, 'customers.db')
      renameSync(aFirstMirror(), file)
      makeReadOnly(folder)

      const ended = await runAsOther([...args, '--mirror', file], folder)

      expect(ended).toMatchObject({ code: 7, stdout: '' })
      expect(ended.stderr).toMatch(
        /customers\.db: the mirror is of an older version, and this user cannot write it here/,
      )
    })
  },
)
