import { expect, test } from 'vitest'
import type { Ending } from '../../src/model/run.ts'
import { aCustomer, customerId, customers } from '../support/builders.ts'
import { aMirror, rowsOf, valueOf } from '../support/mirror-file.ts'
import { changes, customerRow, fateOf, night } from './nights.ts'

const ALL_FIVE = customers(1, 5)
const WITHOUT_2 = ALL_FIVE.filter(({ id }) => id !== customerId(2))

test.each([1, 2, 3])(
  'a customer absent from %d proven scans in a row is removed by the last of them',
  async (after) => {
    const mirror = await aMirror()
    const rule = { after, maxShare: 0.1 }
    await night(mirror, 1, ALL_FIVE)
    const before = customerRow(mirror, 2)

    for (let absent = 1; absent < after; absent += 1) {
      expect(await night(mirror, 1 + absent, WITHOUT_2, { rule })).toMatchObject({ missing: 1, removed: 0 })
      expect(fateOf(mirror, 2)).toBe('missing')
    }
    const last = await night(mirror, 1 + after, WITHOUT_2, { rule })

    expect(last).toMatchObject({ missing: 0, removed: 1, held: 0 })
    const { missing_since, removed_at, ...values } = customerRow(mirror, 2)
    expect(values).toEqual(shown(before))
    expect(missing_since).toBe('2026-01-07 02:00:00.000')
    expect(removed_at).toBe(`2026-01-0${6 + after} 02:00:00.000`)
    const told = 'SELECT last_run_id, changes.missing_since FROM customers JOIN changes USING (organization, id)'
    expect(rowsOf(mirror.file, told)).toEqual([{ last_run_id: last.runId, missing_since }])
    expect(changes(mirror)).toEqual([[customerId(2), 'removed', last.runId]])
    expect(valueOf(mirror.file, 'SELECT count(*) FROM active_customers')).toBe(4)
  },
)

test('a customer that was missing and is seen again is listed as before, and starts from nothing when it goes again', async () => {
  const mirror = await aMirror()
  await night(mirror, 1, ALL_FIVE)
  await night(mirror, 2, WITHOUT_2)

  const report = await night(mirror, 3, ALL_FIVE)

  expect(report).toMatchObject({ updated: 1, returned: 0, missing: 0 })
  expect(fateOf(mirror, 2)).toBe('listed')
  expect(changes(mirror)).toEqual([])
  expect(await night(mirror, 4, WITHOUT_2)).toMatchObject({ missing: 1, removed: 0 })
})

test('a removed customer that is seen again has returned, with what changed about it meanwhile', async () => {
  const mirror = await aMirror()
  for (const [index, list] of [ALL_FIVE, WITHOUT_2, WITHOUT_2].entries()) await night(mirror, index + 1, list)

  const back = [...WITHOUT_2, aCustomer(2, { name: 'Back Again' })]
  const report = await night(mirror, 4, back)

  expect(report).toMatchObject({ updated: 1, returned: 1, inserted: 0 })
  expect(customerRow(mirror, 2)).toMatchObject({ name: 'Back Again', missing_since: null, removed_at: null })
  expect(changes(mirror).map(([, change]) => change)).toEqual(['removed', 'returned'])
  expect(valueOf(mirror.file, `SELECT fields FROM changes WHERE change = 'returned'`)).toBe(
    JSON.stringify({ name: ['Customer 2', 'Back Again'] }),
  )
  expect(await night(mirror, 5, WITHOUT_2)).toMatchObject({ missing: 1, removed: 0 })
})

test.each<[string, Partial<Ending>]>([
  ['an unproven scan', { proof: 'unproven', reasons: ['hole'], readToEnd: false }],
  ['a plain scan', { proof: 'unproven', reasons: ['plain-scan'], readToEnd: true }],
  ['a trial', { proof: 'unproven', reasons: ['page-limit'], readToEnd: false }],
  ['a run that failed', { status: 'failed', proof: 'unproven', reasons: ['failed'], readToEnd: false }],
  ['a run that was stopped', { status: 'interrupted', proof: 'unproven', reasons: ['interrupted'], readToEnd: false }],
])('%s marks no customer as missing or removed, and neither counts nor restarts the count', async (_, ending) => {
  const mirror = await aMirror()
  await night(mirror, 1, ALL_FIVE)
  for (const n of [2, 3, 4]) {
    expect(await night(mirror, n, WITHOUT_2, { ending })).toMatchObject({ missing: 0, removed: 0, held: 0 })
    expect(fateOf(mirror, 2)).toBe('listed')
  }
  expect(await night(mirror, 5, WITHOUT_2)).toMatchObject({ missing: 1, removed: 0 })
  expect(await night(mirror, 6, WITHOUT_2, { ending })).toMatchObject({ missing: 0, removed: 0 })
  expect(fateOf(mirror, 2)).toBe('missing')

  expect(await night(mirror, 7, WITHOUT_2)).toMatchObject({ missing: 0, removed: 1 })
})

test('a customer whose record is rejected counts as seen: not missing, with its last good values', async () => {
  const mirror = await aMirror()
  const broken = ALL_FIVE.map((sent) => (sent['id'] === customerId(2) ? { ...sent, name: ['Two', 'Names'] } : sent))
  await night(mirror, 1, ALL_FIVE)

  for (const n of [2, 3, 4]) {
    expect(await night(mirror, n, broken)).toMatchObject({ rejected: 1, missing: 0, removed: 0 })
  }

  expect(customerRow(mirror, 2)).toMatchObject({ name: 'Customer 2', missing_since: null, removed_at: null })
})

function shown({ missing_since: _missing, removed_at: _removed, ...values }: Record<string, unknown>) {
  return values
}
