import { expect, test } from 'vitest'
import { exportCommand } from '../../../src/cli/export.ts'
import { sqlCommand } from '../../../src/cli/sql.ts'
import { LATEST_VERSION } from '../../../src/mirror/sqlite/opening/migrate.ts'
import { customerId } from '../../support/builders.ts'
import { valueOf } from '../../support/mirror-file.ts'
import { runCommand } from '../../support/run-command.ts'
import { AT, aFirstMirror } from '../../support/first-mirror.ts'

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
