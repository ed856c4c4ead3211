import Database from 'better-sqlite3'
import { chmodSync } from 'node:fs'
import { expect, test } from 'vitest'
import { exportCommand } from '../../../src/cli/export.ts'
import { aMirrorOfNights, aPlan, publishAll } from '../../support/publishing.ts'
import { runCommand } from '../../support/run-command.ts'

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
