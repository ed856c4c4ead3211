import Database from 'better-sqlite3'
import { expect, test } from 'vitest'
import { customerId, customers } from '../../support/builders.ts'
import { aSqliteMirror } from '../../support/full-mirror.ts'
import { planOf } from '../../support/noted-statements.ts'
import { night } from '../nights.ts'

const OF_ONE = 'SELECT * FROM customers_history WHERE organization = ? AND id = ?'

test('the history of a customer reads each of its changes once, and those of no other', async () => {
  const [changes, fields] = [200, 10]
  const mirror = await aSqliteMirror()
  await night(mirror, 0, customers(1, 2))
  const db = new Database(mirror.file)
  const insert = db.prepare(`INSERT INTO changes (run_id, organization, id, change, fields, at)
    VALUES (1, 'acme', ?, 'changed', ?, '2026-01-06 02:00:00')`)
  for (let n = 1; n <= changes; n += 1)
    for (const customer of [1, 2])
      insert.run(customerId(customer), JSON.stringify({ name: [`Name ${n}`, `Name ${n + 1}`] }))
  let looks = 0
  db.function('json_type', { deterministic: true }, (json, path) => {
    looks += 1
    return String(json).includes(`"${String(path).slice(2)}"`) ? 'array' : null
  })
  const versions = db.prepare<[string, string], { name: string; email: string }>(OF_ONE).all('acme', customerId(1))
  db.close()

  expect(versions.map(({ name }) => name).toSorted()).toEqual(
    [...Array.from({ length: changes }, (_, at) => `Name ${at + 1}`), 'Customer 1'].toSorted(),
  )
  expect(new Set(versions.map(({ email }) => email))).toEqual(new Set(['customer-1@example.com']))
  expect(looks).toBe(changes * fields)
})

test('the history of one customer is found by the index of changes', async () => {
  const { file } = await aSqliteMirror()
  const db = new Database(file)
  const plan = planOf(db, OF_ONE)
  db.close()

  expect(plan).toContain('SEARCH changes USING INDEX changes_by_customer (organization=? AND id=?)')
  expect(plan.filter((step) => /^(SCAN changes USING|MATERIALIZE)/.test(step))).toEqual([])
})
