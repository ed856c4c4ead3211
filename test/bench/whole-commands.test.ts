import Database from 'better-sqlite3'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { startService } from '../../bench/service/service.ts'
import { listedDigest, storedRows } from '../../bench/whole/stored-rows.ts'
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
