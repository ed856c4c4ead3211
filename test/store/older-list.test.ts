import { expect, test } from 'vitest'
import { fates, night } from './nights.ts'
import { customerId, type SentRecord } from '../support/builders.ts'
import { aMirror } from '../support/mirror-file.ts'
import { aDatedCustomer, datedCustomers } from '../support/mirrored-sandbox.ts'

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

test('absences count after the list shows a newer customer', async () => {
  const mirror = await aMirror()
  await night(mirror, 1, LIST)
  for (const n of [2, 3]) await night(mirror, n, LIST.slice(10))

  const forward = [NEWER, ...LIST.slice(10)]
  expect(await night(mirror, 4, forward)).toMatchObject({ proof: 'proven', reasons: [], missing: 10, removed: 0 })
  expect(await night(mirror, 5, forward)).toMatchObject({ proof: 'proven', reasons: [], missing: 0, removed: 10 })
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

test.each<[string, (sent: SentRecord) => SentRecord]>([
  ['creation times in one second', (sent) => ({ ...sent, created_at: '2024-01-02T03:04:05Z' })],
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

test('a newer customer who comes in a rejected record shows that the list has gone forward', async () => {
  const mirror = await aMirror()
  await night(mirror, 1, [NEWER, ...LIST])
  const list = [{ ...NEWER, name: ['Two', 'Names'] }, ...LIST.slice(1)]

  expect(await night(mirror, 2, list)).toMatchObject({ proof: 'proven', reasons: [], missing: 1 })
})
