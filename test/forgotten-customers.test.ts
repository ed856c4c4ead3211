import { expect, test } from 'vitest'
import type { Mirror } from '../src/store/mirror.ts'
import { MAX_RECORD_LENGTH } from '../src/sync/sorting/sort-records.ts'
import { makeNight, type Night } from './support/listed-source.ts'
import { aCustomer, customerId, customers, type SentRecord, START_MS, DAY_MS } from './support/builders.ts'
import { aMirror, rowsOf, valueOf } from './support/mirror-file.ts'
import { someOf } from './support/seeds.ts'

const CHAIN = { scan: 'chain', pageSize: 10, concurrency: 1, removals: { after: 1, maxShare: 1 } } as const

function play(mirror: Mirror, index: number, night: Night) {
  return makeNight(mirror, index, { ...night, told: { ...CHAIN, ...night.told } })
}

async function forget(mirror: Mirror, n: number, index: number) {
  const nowMs = START_MS + index * DAY_MS + DAY_MS / 2
  return mirror.forgetCustomer({ organization: 'acme', id: customerId(n), nowMs, monotonicMs: undefined })
}

/** A mirror of this list in which customer `n` was forgotten after the first night. */
async function aMirrorWithout(n: number, list: readonly SentRecord[]): Promise<Mirror> {
  const mirror = await aMirror()
  await play(mirror, 0, { list })
  await forget(mirror, n, 0)
  return mirror
}

const idsIn = (mirror: Mirror) => rowsOf(mirror.file, 'SELECT id FROM customers ORDER BY id').map(({ id }) => id)

test.each<[what: string, n: number, overrides?: object]>([
  ...someOf([1, 2, 9, 10, 11, 35, 60]).map((n): [string, number] => [`of customer ${n}, as it was`, n]),
  ['in upper case', 5, { id: customerId(5).toUpperCase() }],
  ['with other values', 5, { name: 'Another Name', extra_field: 5 }],
  ['that is no valid record', 5, { email: ['not', 'text'] }],
  ['whose id is in braces', 5, { id: `{${customerId(5)}}` }],
  ['that is too long', 5, { notes: 'n'.repeat(MAX_RECORD_LENGTH) }],
])('a list with a forgotten customer is proven, and nothing is kept of a record %s', async (_, n, overrides) => {
  const list = customers(1, 60)
  const sent = list.with(n - 1, { ...list[n - 1], ...overrides })
  const mirror = await aMirrorWithout(n, list)
  for (const index of [1, 2, 3]) {
    const { report, known } = await play(mirror, index, { list: sent })

    expect(report).toMatchObject({ status: 'complete', proof: 'proven', reasons: [], suppressed: 1, unchanged: 59 })
    expect(report).toMatchObject({ inserted: 0, updated: 0, rejected: 0, missing: 0, removed: 0, warnings: {} })
    expect(report.received).toBe(60 + report.duplicates)
    // From the second night on only the pages with the suppressed record are read record by record.
    if (index > 1) expect(known).toBeGreaterThanOrEqual(report.pages - 2)
  }
  expect(idsIn(mirror)).toEqual(list.map(({ id }) => id).filter((id) => id !== customerId(n)))
  expect(rowsOf(mirror.file, 'SELECT * FROM rejects')).toEqual([])
  expect(valueOf(mirror.file, 'SELECT suppressed FROM runs ORDER BY id DESC')).toBe(1)
})

test('a list that still has a forgotten customer is no list of another organization, even if that one has the same customers', async () => {
  const list = customers(1, 2)
  const mirror = await aMirrorWithout(1, list)
  await forget(mirror, 2, 0)
  await play(mirror, 0, { list, told: { organization: 'globex' } })

  const { report } = await play(mirror, 1, { list })

  expect(report).toMatchObject({ status: 'complete', proof: 'proven', suppressed: 2, inserted: 0 })
})

/** Ids that rise with the place, and creation times that fall while the ids stand in no order. */
const ORDERS = {
  'id asc': (place: number) => aCustomer(place),
  'created_at desc': (place: number) =>
    aCustomer((place * 37) % 101, { created_at: new Date(START_MS - place * DAY_MS).toISOString() }),
}

// With one of two customers forgotten that two windows shared, the other is no proof of an order by times: such a list is read again.
const CUTS = [1, 8, 11, 28, 37].flatMap((place) => [2, 4].map((stopAfter) => ({ place, stopAfter })))
const STOPS = [...CUTS, { place: 15, stopAfter: 2 }]
const BY_ID = [9, 10].map((place) => ({ order: 'id asc', at: ORDERS['id asc'], place, stopAfter: 2 }))

const ALL = Object.entries(ORDERS).flatMap(([order, at]) => STOPS.map((stop) => ({ order, at, ...stop })))
const CASES = [...someOf(ALL, { every: 11 }), ...BY_ID]

test.each(CASES)('a continued run is proven by $order: $stopAfter, $place', async ({ order, at, place, stopAfter }) => {
  const places = Array.from({ length: 60 }, (_, index) => index + 1)
  const list = places.filter((each) => each !== 40).map(at)
  const later = places.filter((each) => each !== 50 && each !== 51).map(at)
  const n = Number.parseInt(String(at(place)['id']), 16)
  const [mirror, whole] = [await aMirrorWithout(n, list), await aMirror()]
  await play(whole, 0, { list })
  for (const each of [mirror, whole]) await play(each, 1, { list, stopAfter })
  const { report } = await play(mirror, 2, { list: later })

  const { requests } = (await play(whole, 2, { list: later })).report
  expect(report).toMatchObject({ proof: 'proven', reasons: [], requests })
  const certificate = String(valueOf(mirror.file, 'SELECT certificate FROM runs ORDER BY id DESC'))
  expect(JSON.parse(certificate)).toMatchObject({ basis: 'witness', witness: order })
  const active = rowsOf(mirror.file, 'SELECT id FROM active_customers ORDER BY id').map(({ id }) => id)
  const expected = later.map(({ id }) => id).filter((id) => id !== customerId(n))
  expect(new Set(active)).toEqual(new Set(expected))
})

test('a run that was stopped starts anew if a customer was forgotten, or let in again, in between', async () => {
  const list = customers(1, 60)
  const mirror = await aMirrorWithout(5, list)
  await play(mirror, 1, { list, stopAfter: 2 })
  await forget(mirror, 6, 1)
  const second = await play(mirror, 2, { list, stopAfter: 2 })
  expect(second.report).toMatchObject({ resumedFrom: undefined, suppressed: 2 })
  const again = { organization: 'acme', id: customerId(5), nowMs: START_MS + 3 * DAY_MS, monotonicMs: undefined }
  await mirror.readmitCustomer(again)

  const { report } = await play(mirror, 3, { list })

  expect(report).toMatchObject({ resumedFrom: undefined, proof: 'proven', suppressed: 1, inserted: 1 })
})
