import { expect, test } from 'vitest'
import { openDatabase } from '../../../src/store/postgres/open-database.ts'
import { openReader } from '../../support/mirror-reader.ts'
import { aPostgresMirror } from '../../support/postgres/here.ts'

test('a statement for SQLite is answered in the forms of SQLite', async () => {
  const address = aPostgresMirror()
  const database = await openDatabase(address, 'write')
  await database.close()
  const [writer, reader] = [openReader(address, { isWriting: true }), openReader(address)]

  const written = writer.run(
    `INSERT INTO customers (row_id, organization, id, created_at_utc, extra, first_seen_at, changed_at, last_run_id, updated_at)
     VALUES (?, @who, 'a ? and :b', '2026-01-02 03:04:05', '{"a": [1]}', :at, :at, 1, :at)`,
    7,
    { who: 'acme', at: '2026-02-03 04:05:06.070' },
  )

  expect(written).toBe(1)
  expect(reader.all('SELECT *, rowid > 0 AS yes FROM customers ORDER BY rowid')).toMatchObject([
    {
      ...{ row_id: 7, organization: 'acme', id: 'a ? and :b', created_at_utc: '2026-01-02 03:04:05' },
      ...{ extra: '{"a": [1]}', first_seen_at: '2026-02-03 04:05:06.070', is_active: 1, name: null },
    },
  ])
  expect(reader.value('SELECT COUNT(*) FROM customers WHERE id IN (SELECT value FROM json_each(?))', '["b"]')).toBe(0)
  expect(reader.all('SELECT hex(key) AS key FROM fingerprint_key')).toEqual([
    { key: expect.stringMatching(/^[0-9A-F]{32}$/) },
  ])
  expect(reader.all(`SELECT name FROM sqlite_schema WHERE name LIKE 'customers_by%'`)).toEqual([
    { name: 'customers_by_id' },
  ])
  expect(() => reader.run('DELETE FROM customers')).toThrow('read-only')
  expect(() => reader.all('SELECT nothing FROM nowhere')).toThrow('nowhere')
})
