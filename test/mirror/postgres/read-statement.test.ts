import { expect, test } from 'vitest'
import { openDatabase } from '../../../src/mirror/postgres/opening/database.ts'
import { readStatement } from '../../../src/mirror/postgres/reading/read-statement.ts'
import { aPostgresMirror } from '../../support/postgres/here.ts'

test('a statement that names a file that is not there is a mistake, and no damage', async () => {
  const address = aPostgresMirror()
  await (await openDatabase(address, 'write')).close()

  for (const name of ['pg_read_file', 'pg_stat_file', 'pg_ls_dir'])
    await expect(
      Array.fromAsync(readStatement(address, { sql: `SELECT ${name}('nowhere')` }, { limitMs: 10_000 })),
    ).rejects.toMatchObject({
      name: 'UsageError',
      message: expect.stringMatching(/^The statement failed: could not .* "nowhere"/),
    })
})
