import { expect, test } from 'vitest'
import { privacyPolicy } from '../../src/privacy/hidden-values.ts'
import { aMirrorOf, fates, night } from './nights.ts'
import { aCustomer, aPage, customerId, customers, START_MS, DAY_MS } from '../support/builders.ts'
import { aMirror } from '../support/mirror-file.ts'
import { aDatedCustomer, datedCustomers } from '../support/mirrored-sandbox.ts'

const ALL_FIVE = customers(1, 5)
const WITHOUT_1_AND_2 = customers(3, 5)
const RULE = { after: 2, maxShare: 0.1 }

test('a candidate comes with the names of its latest reject and of its three latest changes, and with those of no other', async () => {
  const mirror = await aMirror()
  const others = customers(3, 6)
  for (let n = 1; n <= 5; n += 1) {
    await night(mirror, n, [aCustomer(1, { name: `A${n}` }), aCustomer(2, { name: `B${n}` }), ...others])
    await night(mirror, n, [aCustomer(1, { name: `C${n}` }), ...others], { organization: 'globex' })
  }
  await night(mirror, 6, [aCustomer(1, { name: 'A6', email: {} }), aCustomer(2, { name: 'B5' }), ...others])
  await night(mirror, 6, [aCustomer(1, { name: 'C6', email: {} }), ...others], { organization: 'globex' })
  await night(mirror, 7, others)
  const run = await mirror.startRun({ organization: 'acme', trigger: 'sync', nowMs: START_MS + 8 * DAY_MS })
  await mirror.savePages(run, [aPage(1, others)], START_MS + 8 * DAY_MS)

  const candidates = await mirror.findRemovalCandidates(run, { rule: RULE, proof: 'proven' })
  const names = new Map(candidates.map(({ id, earlier }) => [id, earlier.flatMap(({ name }) => name ?? [])]))

  expect(names.get(customerId(1))).toEqual(['A6', 'A5', 'A4', 'A3', 'A4', 'A3', 'A2'])
  expect(names.get(customerId(2))).toEqual(['B5', 'B4', 'B3', 'B4', 'B3', 'B2'])
})

test('searches are tested with received customers that have something to search by, first those with every field, each once', async () => {
  const mirror = await aMirror()
  const silent = { username: null, email: null }
  const odd = [aCustomer(1, { name: '' }), aCustomer(2, silent), aCustomer(3), aCustomer(5, { name: null })]
  const received = [...odd, aCustomer(6, { email: '' })]
  await night(mirror, 1, customers(11, 20), { organization: 'abacus' })
  await night(mirror, 1, [...received, aCustomer(4)])
  const run = await mirror.startRun({ organization: 'acme', trigger: 'sync', nowMs: START_MS + 2 * DAY_MS })
  await mirror.savePages(run, [aPage(1, received)], START_MS + 2 * DAY_MS)
  const listed = async (most: number) => (await mirror.findListed(run, most)).map(({ id }) => id)

  expect(await listed(20)).toEqual([3, 1, 5, 6].map(customerId))
  expect(await listed(1)).toEqual([customerId(3)])
})

const BEFORE = aCustomer(1, { name: 'Before', email: 'before@example.com' })

test('what a policy hides is searched for in no customer, neither as it is nor as it was', async () => {
  const mirror = await aMirrorOf([BEFORE, ...customers(2, 5)], ALL_FIVE, WITHOUT_1_AND_2)
  const nowMs = START_MS + 4 * DAY_MS
  const privacy = privacyPolicy({ hash: ['email'], key: 'the key of a policy' })
  const run = await mirror.startRun({ organization: 'acme', trigger: 'sync', nowMs, privacy })
  while (await mirror.applyPrivacy(run, nowMs));
  await mirror.savePages(run, [aPage(1, WITHOUT_1_AND_2)], nowMs)
  const candidates = await mirror.findRemovalCandidates(run, { rule: RULE, proof: 'proven' })

  expect(candidates.map(({ email }) => email)).toEqual([null, null])
  const earlier = candidates[0]?.earlier.map(({ name, email }) => ({ name, email }))
  expect(earlier).toEqual(['Customer 1', 'Before'].map((name) => ({ name, email: null })))
  expect((await mirror.findListed(run, 1)).map(({ name, email }) => [name, email])).toEqual([['Customer 3', null]])
})

/** The newest first: customer 1 was created a day before the first night. */
const LIST = datedCustomers(1, 50)
const NEWER = aDatedCustomer(0)
const OLDER = { status: 'complete', proof: 'unproven', reasons: ['older-list'] } as const

test('if exactly the newest customers are absent, no customer is marked, no reject resolved, and the run has the reason older-list', async () => {
  const mirror = await aMirrorOf([...LIST, aCustomer(99, { name: ['Two', 'Names'] })])

  for (const n of [2, 3, 4, 5]) {
    const report = await night(mirror, n, LIST.slice(10))
    expect(report).toMatchObject({ ...OLDER, missing: 0, removed: 0, held: 0 })
    expect(await mirror.listRuns({ limit: 1 })).toEqual([report])
  }

  expect(fates(mirror)).toEqual({ listed: 50, missing: 0, removed: 0 })
  expect(await mirror.listRejects({ limit: 9 })).toHaveLength(1)
})

test('a customer who was absent often enough is not removed while only the newest are absent, and one older customer', async () => {
  const mirror = await aMirrorOf([NEWER, ...LIST])
  expect(await night(mirror, 2, [NEWER, ...LIST.slice(1)])).toMatchObject({ missing: 1, reasons: [] })

  const list = LIST.slice(1).filter(({ id }) => id !== customerId(40))
  expect(await night(mirror, 3, list)).toMatchObject({ missing: 3, removed: 0, reasons: ['older-list'] })
  expect(await night(mirror, 4, [NEWER, ...list])).toMatchObject({ removed: 2, reasons: [] })
})

test('if older customers are absent too, they are removed, and the newest are missing without being counted', async () => {
  const mirror = await aMirrorOf(LIST)
  const list = LIST.slice(3).filter(({ id }) => id !== customerId(40))
  const said = { proof: 'proven', reasons: ['older-list'] }

  expect(await night(mirror, 2, list)).toMatchObject({ ...said, missing: 4, removed: 0 })
  expect(await night(mirror, 3, list)).toMatchObject({ ...said, missing: 3, removed: 1 })
  expect(await night(mirror, 4, list)).toMatchObject({ proof: 'unproven', reasons: ['older-list'] })
  expect(fates(mirror)).toEqual({ listed: 46, missing: 3, removed: 1 })
  expect(await night(mirror, 5, [NEWER, ...list], { proof: 'settled' })).toMatchObject({ proof: 'settled', missing: 3 })
  expect(await night(mirror, 6, [NEWER, ...list])).toMatchObject({ proof: 'proven', reasons: [], missing: 3 })
  expect(await night(mirror, 7, [NEWER, ...list])).toMatchObject({ removed: 3 })
})

test.each<[string, (n: number) => string | null]>([
  ['creation times in one second', () => '2024-01-02T03:04:05Z'],
  ['no creation time', () => null],
  ['creation times that cannot be read', () => 'long ago'],
  ['creation times far in the future', (n) => `2099-01-02T03:04:0${n}Z`],
])('with %s, absences count as ever', async (_, created) => {
  const list = customers(1, 9).map((sent, at) => ({ ...sent, created_at: created(at + 1) }))
  const mirror = await aMirrorOf(list, list.slice(1))

  expect(await night(mirror, 3, list.slice(1))).toMatchObject({ proof: 'proven', reasons: [], removed: 1 })
})

test('a customer dated into the future neither hides an older list, nor blocks removals once gone', async () => {
  const future = aDatedCustomer(60, { created_at: '2099-01-01T00:00:00Z' })
  const mirror = await aMirrorOf([future, ...LIST])
  for (const n of [2, 3])
    expect(await night(mirror, n, [future, ...LIST.slice(5)])).toMatchObject({ reasons: ['older-list'] })
  await night(mirror, 4, LIST)

  expect(await night(mirror, 5, LIST)).toMatchObject({ proof: 'proven', reasons: [], removed: 1 })
})

test.each([
  ['into the next day, by a service that is ahead,', [aDatedCustomer(0, { created_at: '2026-01-08T01:00:00Z' })]],
  ['in the second of the newest one listed', [NEWER, aDatedCustomer(60, { created_at: LIST[0]?.['created_at'] })]],
])('a customer dated %s is among the newest', async (_, newest) => {
  const mirror = await aMirrorOf([...newest, ...LIST])
  expect(await night(mirror, 2, LIST)).toMatchObject({ ...OLDER, missing: 0 })
})

test('a newer customer who comes in a rejected record shows that the list has gone forward', async () => {
  const mirror = await aMirrorOf([NEWER, ...LIST.slice(0, 2)])
  const list = [{ ...NEWER, name: ['Two', 'Names'] }, ...LIST.slice(1, 2)]

  expect(await night(mirror, 2, list)).toMatchObject({ proof: 'proven', reasons: [], missing: 1 })
})
