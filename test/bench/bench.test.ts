import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { describe, expect, onTestFinished, test } from 'vitest'
import { briefly, FULL, groupsOf, type Member, QUICK } from '../../bench/groups.ts'
import type { Measurement } from '../../bench/messages.ts'
import { writeCurves } from '../../bench/performance-page.ts'
import { playQuickRounds, QUICK_SCANS } from '../../bench/quick.ts'
import type { GroupResult } from '../../bench/results.ts'
import { runBench } from '../../bench/run-bench.ts'
import { SERVED } from '../../bench/serving.ts'
import { startService } from '../../bench/service.ts'
import { listedDigest, type Stage, storedRows } from '../../bench/stage.ts'
import { holdingFor, type Target, verdicts } from '../../bench/targets.ts'
import { listEnvelope } from '../../src/source/customers-page.ts'
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

describe('the service that is never what is measured', () => {
  test('pages of any size hold the whole list, each record once', async () => {
    const service = await startService({ organizations: 1, customers: 1234 })
    onTestFinished(() => service.close())
    const size = 73
    const pages = await Promise.all(
      Array.from({ length: Math.ceil(1234 / size) + 1 }, async (_, index) => {
        const page = await fetch(`${service.origin}/org-1/api/v1/customers?page=${index + 1}&per_page=${size}`)
        return listEnvelope.parse(await page.json())
      }),
    )
    const records = pages.flatMap(({ data }) => data)

    expect(new Set(records.map((record) => JSON.stringify(record))).size).toBe(1234)
    expect(pages.at(0)?.meta).toMatchObject({ current_page: 1, per_page: size, total: 1234, from: 1, to: size })
    expect(pages.at(-1)).toMatchObject({ data: [], meta: { from: null, to: null, total: 1234 } })
  })

  test('it answers as configured, compressed too, and reports the requests since the last report', async () => {
    const service = await startService({ organizations: 2, customers: 120 })
    onTestFinished(() => service.close())
    const target = '/org-2/api/v1/customers?page=2&per_page=100'
    const plain = await (await fetch(service.origin + target)).text()
    await service.answer({ latencyMs: 0, gzip: true, edition: 'base' })
    const compressed = await fetch(service.origin + target)

    expect(compressed.headers.get('content-encoding')).toBe('gzip')
    expect(await compressed.text()).toBe(plain)
    expect(listEnvelope.parse(JSON.parse(plain)).data).toHaveLength(20)
    expect(await service.asked()).toEqual([target])
    expect((await fetch(`${service.origin}/org-3/api/v1/customers`)).status).toBe(404)
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

/** Two seconds of CPU for a thousand requests, each of a hundred customers in a plain scan and of eighty in a chain. */
function costOf(customers: number) {
  const requests = customers / 80
  const rest: Measurement = {
    ...{ wallMs: requests * 2, cpuMs: requests * 2, requests, customers },
    ...{ peakRssBytes: 100 * 1024 ** 2, writtenBytes: customers * 30, fileBytes: customers * 400 },
  }
  return { customers, rest, load: { ...rest, wallMs: requests * 4 }, plain: { ...rest, requests: customers / 100 } }
}

/** Says what each member costs without running it: `npm run bench` runs them. */
function aStageAtOnce(): Stage {
  return {
    run: async ({ dataset: { customers }, start, scan }) => {
      const { load, plain, rest } = costOf(customers)
      return start === 'empty' ? load : scan === 'plain' ? plain : rest
    },
    clear: async () => {},
  }
}

test('the curves are measured at each size, and the tables of the page are written from them', async () => {
  const file = join(temporaryFolder(), 'performance.md')
  const output = { stdout: { write: () => true }, stderr: { write: () => true } }

  const sizes = ['--size', '400', '--size', '200']
  expect(await writeCurves([...sizes, '--runs', '1', '--output', file], output, aStageAtOnce)).toBe(0)
  const page = await readFile(file, 'utf8')

  expect(page.match(/^\| 200 \|/gm)).toHaveLength(3)
  // From the smallest size to the largest, in whatever order they are asked for.
  expect(page).toMatch(/^\| 200 \| 2 \| 3 \| 25\.0 % \|.*\n\| 400 \| 4 \|/m)
  expect(page).toContain('8 organizations of 200 customers')
  expect(page).not.toMatch(/NaN|undefined|Infinity/)
})

test('quick scans find all changes in order of creation, and count by name those that they did not find', () => {
  const few = { customers: 4000, come: 5, leave: 2, rounds: 5 } as const
  const found = playQuickRounds({ ...few, order: 'creation', maxRequests: 100 })
  const missed = playQuickRounds({ ...few, order: 'name', maxRequests: 12 })

  expect(found.every(({ unseen, isAtLimit }) => unseen === 0 && !isAtLimit)).toBe(true)
  expect(missed.every(({ requests }) => requests <= 12)).toBe(true)
  expect(missed.some(({ unseen, isAtLimit }) => unseen > 0 && isAtLimit)).toBe(true)
})

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
