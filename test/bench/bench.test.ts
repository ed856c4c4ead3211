import { once } from 'node:events'
import { createServer } from 'node:http'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { describe, expect, onTestFinished, test } from 'vitest'
import { briefly, FULL, groupsOf, type Member, QUICK } from '../../bench/groups.ts'
import type { Measurement } from '../../bench/messages.ts'
import { QUICK_SCANS } from '../../bench/quick.ts'
import type { GroupResult } from '../../bench/results.ts'
import { runBench } from '../../bench/run-bench.ts'
import { SERVED } from '../../bench/serving.ts'
import { listedDigest, storedRows } from '../../bench/stage.ts'
import { holdingFor, type Target, verdicts } from '../../bench/targets.ts'
import { generateCustomers } from '../../src/service/customers.ts'
import { temporaryFolder } from '../support/temp-folder.ts'

describe('targets', () => {
  const aTarget = (target: Partial<Target>): Target => ({
    ...{ title: 'made up', kind: 'ratio', limit: 2, unit: '×', samples: () => [] },
    ...target,
  })
  const judge = (target: Partial<Target>) => verdicts([], [aTarget(target)]).at(0)

  test.each<[what: string, target: Partial<Target>, expected: object]>([
    ['the median at its limit', { samples: () => [1, 2, 9] }, { measured: 2, met: true, farOutside: false }],
    ['over twice as bad', { samples: () => [4.1] }, { measured: 4.1, met: false, farOutside: true }],
    ['less than half of the least', { samples: () => [0.9], atLeast: true }, { met: false, farOutside: true }],
  ])('judges %s', (_, target, expected) => {
    expect(judge(target)).toMatchObject(expected)
  })

  test.each([
    ['the full benchmark', FULL],
    ['the quick one', QUICK],
  ])('%s measures everything that the targets of its size depend on', (_, sizes) => {
    const groups = briefly(groupsOf(sizes))
    const results = madeUpResults(groups.flatMap(({ members }) => members))
    const { holding } = holdingFor(sizes.large?.one.customers ?? sizes.customers)

    expect(verdicts(results, holding).map(({ title }) => title)).toEqual(holding.map(({ title }) => title))
  })
})

test('an unknown group is reported before anything is measured', async () => {
  let said = ''
  const output = { stdout: { write: () => true }, stderr: { write: (text: string) => (said += text) } }

  expect(await runBench(['--only', 'nihgt'], output)).toBe(2)
  expect(said).toContain('"nihgt"')
})

function madeUp(measurement: Partial<Measurement> = {}): Measurement {
  return {
    ...{ wallMs: 1000, cpuMs: 900, peakRssBytes: 100 * 1024 ** 2, writtenBytes: 5000, fileBytes: 8000 },
    ...{ requests: 12, customers: 1000, longestBlockMs: 90 },
    ...measurement,
  }
}

/** Results in which every member took the same. */
const SERVED_ROWS = Object.values(SERVED).flatMap(({ served, byHand }) => [served, byHand])

function madeUpResults(members: readonly Member[]): GroupResult[] {
  const names = [...members.map(({ name }) => name), ...Object.values(QUICK_SCANS), ...SERVED_ROWS]
  const rows = names.map((name) => ({ name, floors: [], measurements: [madeUp()] }))
  return [{ name: 'made up', about: 'nothing', rows }]
}

test('a row that differs from what the service lists, or is not there, changes the digest', async () => {
  const data = generateCustomers({ seed: 'listed', count: 150 })
  const server = createServer((_, response) => response.end(JSON.stringify({ data }))).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const address = server.address()
  const origin = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`
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
  const listed = await listedDigest(origin, 'org-1', 300)

  expect(storedRows(file, 'by-hand-node')).toEqual({ customers: 150, digest: listed, counts: {} })
  db.exec("UPDATE customers SET timezone = timezone || ' ' WHERE rowid = 150")
  expect(storedRows(file, 'by-hand-node').digest).not.toBe(listed)
  db.exec('UPDATE customers SET timezone = trim(timezone); DELETE FROM customers WHERE rowid = 1')
  expect(storedRows(file, 'by-hand-node')).not.toMatchObject({ digest: listed })
})
