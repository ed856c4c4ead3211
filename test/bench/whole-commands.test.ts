import Database from 'better-sqlite3'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { startService } from '../../bench/service/service.ts'
import { listedDigest, storedRows } from '../../bench/whole/stored-rows.ts'
import { TARGETS } from '../../bench/targets.ts'
import { listEnvelope } from '../../src/source/customers-page.ts'
import { temporaryFolder } from '../support/temp-folder.ts'

test('a row that differs from what the service lists, or is not there, changes the digest', async () => {
  const service = await startService({ organizations: 1, customers: 150 })
  onTestFinished(() => service.close())
  const answer = await fetch(`${service.origin}/org-1/api/v1/customers?page=1&per_page=150`)
  const { data } = listEnvelope.parse(await answer.json())
  const file = join(temporaryFolder(), 'customers.db')
  const db = new Database(file)
  onTestFinished(() => void db.close())
  db.exec(
    'CREATE TABLE customers (id, name, username, email, phone, address, company_name, language, timezone, created_at)',
  )
  const insert = db.prepare(
    `INSERT INTO customers VALUES
     (@id, @name, @username, @email, @phone, @address, @company_name, @language, @timezone, @created_at)`,
  )
  for (const record of data) insert.run(record)
  const listed = await listedDigest(service.origin, 'org-1', 300)

  expect(storedRows(file, 'by-hand-node')).toEqual({ customers: 150, digest: listed, counts: {} })
  db.exec("UPDATE customers SET timezone = timezone || ' ' WHERE rowid = 150")
  expect(storedRows(file, 'by-hand-node').digest).not.toBe(listed)
  db.exec('UPDATE customers SET timezone = trim(timezone); DELETE FROM customers WHERE rowid = 1')
  expect(storedRows(file, 'by-hand-node')).not.toMatchObject({ digest: listed })
})

test.each([
  ['at rest, over downloading the same', 1.2],
  ['the second night, over downloading the same', 1.2],
  ['1 % changed, over downloading the same', 1.5],
  ['1 % gone, over downloading the same', 1.5],
  ['1 % new at the top, over downloading the same', 1.5],
  ['initial sync, over downloading and inserting the same', 1.35],
  ['the chain scan at rest, over the plain scan', 1.2],
  ['peak memory of loading 1,000,000', 220],
  ['peak memory of 1,000,000 at rest', 220],
  ['whole commands, initial sync: sync over Python by hand', 1.2],
  ['whole commands, second night: sync over Python by hand', 0.9],
  ['whole commands, at rest: sync over Python by hand', 0.9],
  ['whole commands, 1 % changed: sync over Python by hand', 0.9],
  ['sync of 40 customers', 300],
  ['sync of 40 customers, from Node 20', 400],
])('the limit of "%s" is %d', (title, limit) => {
  expect(TARGETS.find((target) => target.title === title)?.limit).toBe(limit)
})
