import { describe, expect, onTestFinished, test } from 'vitest'
import { briefly, FULL, groupsOf, mostCustomers, QUICK } from '../../bench/groups.ts'
import { type Member } from '../../bench/members.ts'
import type { Measurement } from '../../bench/messages.ts'
import { verdictTable } from '../../bench/report.ts'
import type { GroupResult } from '../../bench/results.ts'
import { runBench } from '../../bench/run-bench.ts'
import { servedList } from '../../bench/service/served-list.ts'
import { startService } from '../../bench/service/service.ts'
import { QUICK_SCANS } from '../../bench/quick/measure-quick.ts'
import { EXPORTS } from '../../bench/whole/exports.ts'
import { holdingFor, TARGETS, verdicts, type Target } from '../../bench/targets.ts'
import { listEnvelope } from '../../src/source/customers-page.ts'

describe('targets', () => {
  const aTarget = (target: Partial<Target>): Target => ({
    ...{ title: 'made up', kind: 'ratio', limit: 2, unit: '×', samples: () => [] },
    ...target,
  })
  const judge = (target: Partial<Target>) => verdicts([], [aTarget(target)]).at(0)

  test.each([
    ['at its limit', [2, 2, 2], { measured: 2, met: true, farOutside: false }],
    ['a little over', [1, 3, 9], { measured: 3, met: false, farOutside: false }],
    ['over twice as bad', [4.1], { measured: 4.1, met: false, farOutside: true }],
  ])('at most: %s', (_, samples, expected) => {
    expect(judge({ samples: () => samples })).toMatchObject(expected)
  })

  test.each([
    ['more than asked', [3], { met: true, farOutside: false }],
    ['less than asked', [1.5], { met: false, farOutside: false }],
    ['less than half', [0.9], { met: false, farOutside: true }],
  ])('at least: %s', (_, samples, expected) => {
    expect(judge({ samples: () => samples, atLeast: true })).toMatchObject(expected)
  })

  test('a missing measurement is not judged', () => {
    expect(verdicts([], TARGETS)).toEqual([])
  })

  test.each([
    ['the full benchmark', FULL],
    ['the quick one', QUICK],
  ])('%s measures everything that the targets of its size depend on', (_, sizes) => {
    const groups = briefly(groupsOf(sizes))
    const results = madeUpResults(groups.flatMap(({ members }) => members))
    const { holding } = holdingFor(mostCustomers(sizes))

    expect(verdicts(results, holding).map(({ title }) => title)).toEqual(holding.map(({ title }) => title))
  })

  test('all of them hold for a million customers, and a small size leaves out what would say nothing there', () => {
    const { tooLarge } = holdingFor(QUICK.customers)

    expect(holdingFor(1_000_000)).toEqual({ holding: TARGETS, tooLarge: [] })
    expect(
      tooLarge.every(({ title }) =>
        /1,000,000|1,000 organizations|sequential loop|whole commands|PostgreSQL over SQLite/.test(title),
      ),
    ).toBe(true)
    expect(verdictTable([], tooLarge)).toMatch(/sequential loop .* at least 8.00 × +– +from 100,000 customers on\n/)
  })

  test('enough of them is judged in brief for a program twice as slow to be noticed', () => {
    const { holding } = holdingFor(QUICK.customers)
    const slow = (target: Target) => ({ ...target, samples: () => [target.limit * 2.01] })
    const failing = verdicts([], holding.map(slow)).filter(({ kind, farOutside }) => kind === 'ratio' && farOutside)

    expect(failing.length).toBeGreaterThanOrEqual(6)
  })

  test('the table shows missed targets, and targets missed by far', () => {
    const judged = verdicts(
      [],
      [1, 3, 5].map((measured) => aTarget({ title: `measured ${measured}`, samples: () => [measured] })),
    )

    expect(verdictTable(judged)).toMatch(/measured 1 .* ok\n.*measured 3 .* missed\n.*measured 5 .* missed by far\n/)
  })
})

describe('the service that is never what is measured', () => {
  const options = { seed: 'test', count: 1234 } as const
  const page = (list: ReturnType<typeof servedList>, number: number, size: number) =>
    listEnvelope.parse(JSON.parse(list.page(number, size, 'http://service.example.com/customers').toString()))

  test.each([50, 73, 100])('pages of %i hold the whole list, each record once', (size) => {
    const list = servedList({ ...options, edition: 'base' })
    const pages = Array.from({ length: Math.ceil(list.total / size) + 1 }, (_, index) => page(list, index + 1, size))
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

/** Results in which every member took the same, and the short commands too. */
function madeUpResults(members: readonly Member[]): GroupResult[] {
  const names = [
    ...members.map(({ name }) => name),
    '--help',
    'status',
    ...Object.values(QUICK_SCANS),
    ...Object.values(EXPORTS),
  ]
  const rows = names.map((name) => ({ name, floors: [], measurements: [madeUp()] }))
  return [{ name: 'made up', about: 'nothing', rows }]
}
