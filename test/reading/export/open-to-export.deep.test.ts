import Database from 'better-sqlite3'
import { chmodSync, mkdirSync, renameSync } from 'node:fs'
import { expect, test, describe } from 'vitest'
import { exportCommand } from '../../../src/cli/export.ts'
import { aPlan, aMirrorOfNights, publishAll } from '../../support/publishing.ts'
import { runCommand } from '../../support/run-command.ts'
import { dirname, join } from 'node:path'
import { makeReadOnly, OTHER_USER, runAsOther } from '../../support/other-user.ts'
import { temporaryFolder } from '../../support/temp-folder.ts'
import { aFirstMirror } from '../../support/first-mirror.ts'

test('a copy that lacks a table says so', async () => {
  const plan = aPlan(await aMirrorOfNights())
  publishAll(plan)
  chmodSync(plan.file, 0o600)
  const db = new Database(plan.file)
  for (const name of ['customers_daily', 'customers_history']) {
    const type = db.prepare('SELECT type FROM sqlite_schema WHERE name = ?').pluck().get(name)
    db.exec(`DROP ${String(type)} ${name}`)
  }
  db.close()

  expect(
    await runCommand(exportCommand, ['--format', 'csv', '--mirror', plan.file, '--as-of', '2026-01-06']),
  ).toMatchObject({
    code: 2,
    stdout: '',
    stderr: 'This file has no customers_history: it was made by an earlier version. Publish it again.\n',
  })
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
