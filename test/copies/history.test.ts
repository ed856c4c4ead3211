import { expect, test } from 'vitest'
import { aCustomer, customerId, customers, START_MS } from '../support/builders.ts'
import { aMirror, mirrorPages, rowsOf } from '../support/mirror-file.ts'
import { DAY_MS, night, quickEnding, rowIdsOf, scanEnding } from '../store/nights.ts'
import * as fc from 'fast-check'
import { seeds } from '../support/seeds.ts'
import type { Mirror } from '../../src/store/mirror.ts'
import { sqlTime } from '../../src/store/port/sql.ts'
import type { Proof } from '../../src/model/report.ts'

const HISTORY = `SELECT name, valid_from, valid_to, valid_from_after, valid_to_after, opened_by, closed_by
  FROM customers_history WHERE organization = 'acme' AND id = ? ORDER BY valid_from`
const timeOf = (n: number) => `2026-01-${String(5 + n).padStart(2, '0')} 02:00:00.000`
const historyOf = (file: string, n: number) => rowsOf(file, HISTORY, customerId(n)).map((row) => Object.values(row))

test('a customer has one row for each version, with the scans between which each change happened', async () => {
  const mirror = await aMirror()
  const others = customers(2, 40)
  await night(mirror, 0, [aCustomer(1), ...others])
  await night(mirror, 1, [aCustomer(1), ...others], { proof: 'unproven' })
  await night(mirror, 2, [aCustomer(1, { name: 'Ada' }), ...others])
  await night(mirror, 3, others)
  await night(mirror, 4, others)
  await night(mirror, 6, [aCustomer(1, { name: 'Ada Lovelace' }), ...others])

  expect(historyOf(mirror.file, 1)).toEqual([
    ['Customer 1', timeOf(0), timeOf(2), null, timeOf(0), 'listed', 'changed'],
    ['Ada', timeOf(2), timeOf(4), timeOf(0), timeOf(2), 'changed', 'removed'],
    ['Ada Lovelace', timeOf(6), null, timeOf(4), null, 'returned', null],
  ])
})

test('a removal that was approved later happened before the run that held it back', async () => {
  const mirror = await aMirror()
  await night(mirror, 0, customers(1, 60))
  await night(mirror, 1, customers(1, 60))
  const { runId = 0 } = await night(mirror, 2, customers(31, 60))
  await night(mirror, 3, customers(31, 60), { proof: 'unproven' })
  await mirror.approveRemovals(runId, START_MS + 5 * DAY_MS)

  expect(historyOf(mirror.file, 1)).toEqual([
    ['Customer 1', timeOf(0), timeOf(5), null, timeOf(1), 'listed', 'removed'],
  ])
})

test('days between the runs are in customers_daily, and an organization that was never read to its end is not', async () => {
  const mirror = await aMirror()
  await night(mirror, 0, customers(1, 40))
  await night(mirror, 3, [aCustomer(1, { name: 'Ada' }), ...customers(2, 39), aCustomer(41)])
  await night(mirror, 4, [aCustomer(1, { name: 'Ada' }), ...customers(2, 39), aCustomer(41)])
  await mirrorPages(mirror, [customers(1, 9)], { organization: 'globex', ending: { reasons: ['cached-answer'] } })

  const daily = rowsOf(mirror.file, 'SELECT * FROM customers_daily ORDER BY day').map((row) => Object.values(row))

  expect(daily).toEqual([
    ['acme', '2026-01-05', 40, 40, 0, 0],
    ['acme', '2026-01-06', 40, 0, 0, 0],
    ['acme', '2026-01-07', 40, 0, 0, 0],
    ['acme', '2026-01-08', 41, 1, 0, 1],
    ['acme', '2026-01-09', 40, 0, 1, 0],
  ])
})

test('a clock that was set back moves days, and their numbers add up all the same', async () => {
  const mirror = await aMirror()
  await night(mirror, 3, customers(1, 5))
  await night(mirror, 0, customers(1, 7))
  await mirrorPages(mirror, [customers(1, 8)], { atMs: START_MS + 4 * DAY_MS, ending: scanEnding({}) })

  const daily = rowsOf(mirror.file, 'SELECT day, active, added FROM customers_daily ORDER BY day')

  expect(daily).toEqual([
    { day: '2026-01-05', active: 7, added: 7 },
    ...['06', '07', '08'].map((of) => ({ day: `2026-01-${of}`, active: 7, added: 0 })),
    { day: '2026-01-09', active: 8, added: 1 },
  ])
})

/*
 * Any nights.
 */

const KNOWN = [1, 2, 3, 4, 5]
const HOUR_MS = DAY_MS / 24

/** What a night finds of each customer; the last one is always listed, so that the list is never empty. */
const aNight: fc.Arbitrary<Night> = fc.record({
  organization: fc.constantFrom('acme', 'globex'),
  hoursLater: fc.constantFrom(1, 24, 24, 30, 60),
  finds: fc.tuple(
    ...KNOWN.map(() =>
      fc.constantFrom<Found>('same', 'same', 'renamed', 'nameless', 'moved', 'absent', 'absent', 'rejected'),
    ),
  ),
  proof: fc.constantFrom<Proof>('proven', 'proven', 'settled', 'unproven'),
  /** Whether it is a quick run, which receives only the customers that changed; the first run of an organization is none. */
  isPartial: fc.constantFrom(false, false, false, true),
})

type Night = { organization: string; hoursLater: number; finds: Found[]; proof: Proof; isPartial: boolean }

type Found = 'same' | 'renamed' | 'nameless' | 'moved' | 'absent' | 'rejected'

/** Nights of two organizations. */
const someNights = fc.array(aNight, { minLength: 1, maxLength: 14 })

/** What readers found after a night: the values of every active customer, in the order of ids. */
type Snapshot = { organization: string; time: string; active: unknown[] }

/** Plays the nights, and reads the mirror after each of them. */
async function playNights(mirror: Mirror, nights: readonly Night[]): Promise<Snapshot[]> {
  const snapshots: Snapshot[] = []
  let atMs = START_MS
  let turn = 0
  const sent = new Map<string, Record<string, unknown>>()
  for (const { organization, hoursLater, finds, ...asked } of nights) {
    const isPartial = asked.isPartial && snapshots.some((snapshot) => snapshot.organization === organization)
    const proof = isPartial ? 'unproven' : asked.proof
    const list: unknown[] = []
    for (const n of [...KNOWN, KNOWN.length + 1]) {
      const found = finds[n - 1] ?? 'same'
      const key = `${organization} ${n}`
      const record = { ...(sent.get(key) ?? aCustomer(n)), ...OTHERWISE[found]((turn += 1)) }
      if (found === 'rejected') list.push({ id: customerId(n), name: {} })
      if (found === 'absent' || found === 'rejected') continue
      if (isPartial && found === 'same') continue
      sent.set(key, record)
      list.push(record)
    }
    const gone = KNOWN.filter((n) => finds[n - 1] === 'absent')
    const ending = isPartial
      ? quickEnding(rowIdsOf(mirror, gone, organization))
      : scanEnding({ proof, rule: { after: 2, maxShare: 0 }, confirmed: KNOWN.map(customerId) })
    await mirrorPages(mirror, list.length > 0 ? [list] : [], { organization, atMs, isPartial, ending })
    snapshots.push({ organization, time: sqlTime(atMs), active: activeIn(mirror, organization) })
    atMs += hoursLater * HOUR_MS
  }
  return snapshots
}

const OTHERWISE: Record<Found, (turn: number) => Record<string, unknown>> = {
  same: () => ({}),
  absent: () => ({}),
  rejected: () => ({}),
  renamed: (turn) => ({ name: `Name ${turn} "é"` }),
  nameless: () => ({ name: null }),
  moved: (turn) => ({ address: `${turn} Other Street`, extra_field: turn % 3 }),
}

/** The columns that have a history. */
const VALUES = 'name, username, email, phone, address, company_name, language, timezone, created_at, extra'

function activeIn(mirror: Mirror, organization: string): Snapshot['active'] {
  return rowsOf(
    mirror.file,
    `SELECT id, ${VALUES} FROM active_customers WHERE organization = ? ORDER BY id`,
    organization,
  )
}

const AT = `SELECT id, ${VALUES} FROM customers_history
  WHERE organization = ? AND valid_from <= ? AND (valid_to IS NULL OR valid_to > ?) ORDER BY id`

test('after any nights, history holds each customer as readers found it after each of them', async () => {
  await fc.assert(
    fc.asyncProperty(someNights, async (nights) => {
      const mirror = await aMirror()
      const snapshots = await playNights(mirror, nights)

      for (const { organization, time, active } of snapshots)
        expect(rowsOf(mirror.file, AT, organization, time, time)).toEqual(active)
    }),
    { numRuns: seeds(200, { least: 3, every: 70 }) },
  )
})
