import { expect, test } from 'vitest'
import { customerId, type SentRecord, START_MS } from '../support/builders.ts'
import { aMirror } from '../support/mirror-file.ts'
import { aDatedCustomer, datedCustomers } from '../support/searched-service.ts'
import { DAY_MS, fateOf, fates, night, type Night } from './nights.ts'

/** The newest first: customer 1 was created a day before the first night. */
const LIST = datedCustomers(1, 50)
const NEWER = aDatedCustomer(0)

test('if exactly the newest customers are absent, no customer is marked, and the run has the reason older-list', async () => {
  const mirror = await aMirror()
  await night(mirror, 1, LIST)

  for (const n of [2, 3, 4, 5]) {
    const report = await night(mirror, n, LIST.slice(10))
    expect(report).toMatchObject({ status: 'complete', proof: 'unproven', reasons: ['older-list'] })
    expect(report).toMatchObject({ missing: 0, removed: 0, held: 0 })
    expect(await mirror.listRuns({ limit: 1 })).toEqual([report])
  }

  expect(fates(mirror)).toEqual({ listed: 50, missing: 0, removed: 0 })
})

test('the reasons of the scan itself stay, before that of the older list', async () => {
  const mirror = await aMirror()
  await night(mirror, 1, LIST)

  const report = await night(mirror, 2, LIST.slice(10), { proof: 'settled' })

  expect(report).toMatchObject({ proof: 'unproven', reasons: ['no-witness', 'older-list'] })
})

test('absences count after the list shows a newer customer', async () => {
  const mirror = await aMirror()
  await night(mirror, 1, LIST)
  for (const n of [2, 3]) await night(mirror, n, LIST.slice(10))

  const forward = [NEWER, ...LIST.slice(10)]
  expect(await night(mirror, 4, forward)).toMatchObject({ proof: 'proven', reasons: [], missing: 10, removed: 0 })
  expect(await night(mirror, 5, forward)).toMatchObject({ proof: 'proven', reasons: [], missing: 0, removed: 10 })
})

test('a replica that catches up removes no customer, and its customers were never missing', async () => {
  const mirror = await aMirror()
  await night(mirror, 1, LIST)
  await night(mirror, 2, LIST.slice(10))
  await night(mirror, 3, LIST.slice(4))

  expect(await night(mirror, 4, LIST)).toMatchObject({ proof: 'proven', reasons: [], unchanged: 50, returned: 0 })
})

test('a newest customer that left is removed only after a newer one is listed', async () => {
  const mirror = await aMirror()
  await night(mirror, 1, LIST)
  for (const n of [2, 3, 4]) await night(mirror, n, LIST.slice(1))
  expect(fateOf(mirror, 1)).toBe('listed')

  for (const n of [5, 6]) await night(mirror, n, [NEWER, ...LIST.slice(1)])

  expect(fateOf(mirror, 1)).toBe('removed')
})

test('absences before an older list still count after it', async () => {
  const mirror = await aMirror()
  await night(mirror, 1, [NEWER, ...LIST])
  await night(mirror, 2, [NEWER, ...LIST.slice(1)])
  expect(await night(mirror, 3, LIST.slice(1))).toMatchObject({ proof: 'unproven', reasons: ['older-list'] })
  expect(fateOf(mirror, 1)).toBe('missing')

  expect(await night(mirror, 4, [NEWER, ...LIST.slice(1)])).toMatchObject({ removed: 1 })
})

test('if older customers are absent too, they are removed, and the newest are missing without being counted', async () => {
  const mirror = await aMirror()
  await night(mirror, 1, LIST)
  const list = LIST.slice(3).filter(({ id }) => id !== customerId(40))
  const said = { proof: 'proven', reasons: ['older-list'] }

  expect(await night(mirror, 2, list)).toMatchObject({ ...said, missing: 4, removed: 0 })
  expect(await night(mirror, 3, list)).toMatchObject({ ...said, missing: 3, removed: 1 })
  // Now exactly the newest are absent.
  expect(await night(mirror, 4, list)).toMatchObject({ proof: 'unproven', reasons: ['older-list'] })
  expect(fates(mirror)).toEqual({ listed: 46, missing: 3, removed: 1 })
  expect(await night(mirror, 5, [NEWER, ...list])).toMatchObject({ proof: 'proven', reasons: [], missing: 3 })
  expect(await night(mirror, 6, [NEWER, ...list])).toMatchObject({ removed: 3 })
})

test('a settled scan counts them no more than a proven one, whatever searches confirm', async () => {
  const mirror = await aMirror()
  const confirmed: Night = { proof: 'settled', confirmed: [customerId(1)] }
  await night(mirror, 1, LIST)
  for (const n of [2, 3]) await night(mirror, n, LIST.slice(1), confirmed)
  expect(fateOf(mirror, 1)).toBe('listed')

  expect(await night(mirror, 4, [NEWER, ...LIST.slice(1)], confirmed)).toMatchObject({ missing: 1, removed: 0 })
  expect(await night(mirror, 5, [NEWER, ...LIST.slice(1)], confirmed)).toMatchObject({ removed: 1 })
})

test('absences that are not counted bring no removal nearer after a settled scan either', async () => {
  const mirror = await aMirror()
  const confirmed: Night = { proof: 'settled', confirmed: [1, 40].map(customerId) }
  const without40 = LIST.slice(1).filter(({ id }) => id !== customerId(40))
  await night(mirror, 1, LIST)
  for (const n of [2, 3]) await night(mirror, n, without40, confirmed)
  expect(fates(mirror)).toEqual({ listed: 48, missing: 1, removed: 1 })

  expect(await night(mirror, 4, [NEWER, ...without40], confirmed)).toMatchObject({ missing: 1, removed: 0 })
})

test('customers created in the same second as the newest listed one are not counted if others are newer', async () => {
  const mirror = await aMirror()
  const cut = { created_at: new Date(START_MS - 3 * DAY_MS).toISOString() }
  const list = [aDatedCustomer(1), aDatedCustomer(2, cut), aDatedCustomer(3, cut), ...datedCustomers(4, 20)]
  await night(mirror, 1, list)

  for (const n of [2, 3]) expect(await night(mirror, n, list.slice(2))).toMatchObject({ reasons: ['older-list'] })

  expect(fates(mirror)).toEqual({ listed: 20, missing: 0, removed: 0 })
})

test('a list whose customers were all created in the same second loses customers as any other', async () => {
  const mirror = await aMirror()
  const imported = datedCustomers(1, 20).map((sent) => ({ ...sent, created_at: '2024-01-02T03:04:05Z' }))
  await night(mirror, 1, imported)
  await night(mirror, 2, imported.slice(1))

  expect(await night(mirror, 3, imported.slice(1))).toMatchObject({ proof: 'proven', reasons: [], removed: 1 })
})

test.each<[string, (sent: SentRecord) => SentRecord]>([
  ['no creation time', (sent) => ({ ...sent, created_at: null })],
  ['creation times that cannot be read', (sent) => ({ ...sent, created_at: 'long ago' })],
  [
    'creation times far in the future',
    (sent) => ({ ...sent, created_at: `2099-01-02T03:04:${String(sent['id']).slice(6, 8)}Z` }),
  ],
])('with %s, absences count as ever', async (_, spoilt) => {
  const mirror = await aMirror()
  const list = datedCustomers(1, 9).map(spoilt)
  await night(mirror, 1, list)
  await night(mirror, 2, list.slice(1))

  expect(await night(mirror, 3, list.slice(1))).toMatchObject({ proof: 'proven', reasons: [], removed: 1 })
})

test('a customer dated into the future neither hides an older list, nor blocks removals once gone', async () => {
  const mirror = await aMirror()
  const future = aDatedCustomer(60, { created_at: '2099-01-01T00:00:00Z' })
  await night(mirror, 1, [future, ...LIST])
  for (const n of [2, 3]) {
    const report = await night(mirror, n, [future, ...LIST.slice(5)])
    expect(report).toMatchObject({ proof: 'unproven', reasons: ['older-list'] })
  }
  await night(mirror, 4, LIST)

  expect(await night(mirror, 5, LIST)).toMatchObject({ proof: 'proven', reasons: [], removed: 1 })
})

test('by a clock that is a month behind, the newest customers are known as such by the time of the service', async () => {
  const mirror = await aMirror()
  const ending = { serviceMs: START_MS }
  await night(mirror, -30, LIST, { ending })

  for (const n of [-29, -28, -27]) {
    const report = await night(mirror, n, LIST.slice(4), { ending })
    expect(report).toMatchObject({ proof: 'unproven', reasons: ['older-list'] })
  }

  expect(fates(mirror)).toEqual({ listed: 50, missing: 0, removed: 0 })
})

test('a service that says that its clock shows the last day of the year 9999 does not hide an older list', async () => {
  const mirror = await aMirror()
  const ending = { serviceMs: Date.UTC(9999, 11, 31, 23, 59, 59) }
  await night(mirror, 1, LIST, { ending })

  expect(await night(mirror, 2, LIST.slice(4), { ending })).toMatchObject({
    proof: 'unproven',
    reasons: ['older-list'],
  })
})

test('a newer customer who comes in a rejected record shows that the list has gone forward', async () => {
  const mirror = await aMirror()
  await night(mirror, 1, [NEWER, ...LIST])
  const list = [{ ...NEWER, name: ['Two', 'Names'] }, ...LIST.slice(1)]

  expect(await night(mirror, 2, list)).toMatchObject({ proof: 'proven', reasons: [], missing: 1 })
})

test('the newest customer of another organization has no effect', async () => {
  const mirror = await aMirror()
  await night(mirror, 1, [...datedCustomers(1, 49), NEWER], { organization: 'abacus' })
  await night(mirror, 1, LIST)

  expect(await night(mirror, 2, LIST.slice(1))).toMatchObject({ reasons: ['older-list'] })
})

test('a removed customer is not the newest one any more', async () => {
  const mirror = await aMirror()
  await night(mirror, 1, [NEWER, ...LIST])
  const newest = aDatedCustomer(70, { created_at: new Date(START_MS + DAY_MS).toISOString() })
  for (const n of [2, 3]) await night(mirror, n, [newest, ...LIST])
  expect(fateOf(mirror, 0)).toBe('removed')

  expect(await night(mirror, 4, LIST)).toMatchObject({ proof: 'unproven', reasons: ['older-list'], missing: 0 })
})

test('newer customers whose removal was approved do not show that the list has gone forward', async () => {
  const mirror = await aMirror()
  const createdAt = new Date(START_MS).toISOString()
  const newer = Array.from({ length: 25 }, (_, index) => aDatedCustomer(100 + index, { created_at: createdAt }))
  await night(mirror, 1, [...newer, ...LIST])
  const { runId = 0 } = await night(mirror, 2, LIST.slice(0, -1))
  expect(await mirror.approveRemovals(runId, START_MS + 2 * DAY_MS)).toBe(26)

  expect(await night(mirror, 3, LIST.slice(1, -1))).toMatchObject({ reasons: ['older-list'], missing: 0 })
})

test('too many absences at once are held back even if the newest customers are among them', async () => {
  const mirror = await aMirror()
  await night(mirror, 1, LIST)

  const report = await night(mirror, 2, LIST.slice(2, 20))

  expect(report).toMatchObject({ proof: 'proven', reasons: ['older-list'], missing: 0, held: 32 })
})

test('a list that is suddenly empty is held back, and not taken for an older one', async () => {
  const mirror = await aMirror()
  await night(mirror, 1, LIST)

  expect(await night(mirror, 2, [])).toMatchObject({ proof: 'proven', reasons: [], held: 50 })
})
