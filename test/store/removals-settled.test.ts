import { expect, test } from 'vitest'
import type { Proof } from '../../src/model/report.ts'
import { privacyPolicy } from '../../src/privacy/privacy-policy.ts'
import { aCustomer, aPage, customerId, customers, START_MS } from '../support/builders.ts'
import { aMirror } from '../support/mirror-file.ts'
import { changes, DAY_MS, fateOf, night, type Night } from './nights.ts'

const ALL_FIVE = customers(1, 5)
const WITHOUT_1_AND_2 = customers(3, 5)
const RULE = { after: 2, maxShare: 0.1 }
const CONFIRMED: Night = { proof: 'settled', confirmed: [customerId(1)] }

test('a settled scan marks absent customers as missing, and removes those absent often enough with a confirmed absence', async () => {
  const mirror = await aMirror()
  await night(mirror, 1, ALL_FIVE)

  expect(await night(mirror, 2, WITHOUT_1_AND_2, CONFIRMED)).toMatchObject({ missing: 2, removed: 0 })
  const report = await night(mirror, 3, WITHOUT_1_AND_2, CONFIRMED)

  expect(report).toMatchObject({ proof: 'settled', missing: 1, removed: 1 })
  expect([fateOf(mirror, 1), fateOf(mirror, 2)]).toEqual(['removed', 'missing'])
  expect(changes(mirror)).toEqual([[customerId(1), 'removed', report.runId]])
})

test('an unproven scan that came to the end of the list counts too: three in a row and a confirmation remove', async () => {
  const mirror = await aMirror()
  await night(mirror, 1, ALL_FIVE)
  const whole: Night = { ...CONFIRMED, proof: 'unproven', isWhole: true }

  expect(await night(mirror, 2, WITHOUT_1_AND_2, whole)).toMatchObject({ missing: 2, removed: 0 })
  await night(mirror, 3, ALL_FIVE.slice(0, 3), { proof: 'unproven' })
  for (const n of [4, 5])
    expect(await night(mirror, n, WITHOUT_1_AND_2, whole)).toMatchObject({ missing: 2, removed: 0 })
  const report = await night(mirror, 6, WITHOUT_1_AND_2, whole)

  expect(report).toMatchObject({ proof: 'unproven', missing: 1, removed: 1 })
  expect([fateOf(mirror, 1), fateOf(mirror, 2)]).toEqual(['removed', 'missing'])
})

test('candidates for removal are customers absent often enough, without removed and received ones', async () => {
  const mirror = await aMirror()
  await night(mirror, 1, ALL_FIVE)
  for (const n of [2, 3]) await night(mirror, n, customers(2, 5))
  await night(mirror, 4, customers(3, 5), { proof: 'settled' })
  const run = await mirror.startRun({ organization: 'acme', trigger: 'sync', nowMs: START_MS + 5 * DAY_MS })
  await mirror.savePages(run, [aPage(1, customers(4, 5))], START_MS + 5 * DAY_MS)

  const candidates = await mirror.findRemovalCandidates(run, { rule: RULE, proof: 'settled' })

  expect(candidates).toMatchObject([{ id: customerId(2), username: 'customer-2', email: 'customer-2@example.com' }])
})

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

test.each<Proof>(['proven', 'settled', 'unproven'])('the guards hold after a %s scan', async (proof) => {
  const mirror = await aMirror()
  await night(mirror, 1, customers(1, 100))
  const everyId = customers(1, 100).map(({ id }) => String(id))

  const report = await night(mirror, 2, customers(22, 100), { proof, isWhole: true, confirmed: everyId })

  expect(report).toMatchObject({ missing: 0, removed: 0, held: 21 })
})

test('searches are tested with received customers that have something to search by, first those with every field, each once', async () => {
  const mirror = await aMirror()
  const silent = { username: null, email: null }
  const received = [
    ...[aCustomer(1, { name: '' }), aCustomer(2, silent), aCustomer(3)],
    ...[aCustomer(5, { name: null }), aCustomer(6, { email: '' })],
  ]
  await night(mirror, 1, customers(11, 20), { organization: 'abacus' })
  await night(mirror, 1, [...received, aCustomer(4)])
  const run = await mirror.startRun({ organization: 'acme', trigger: 'sync', nowMs: START_MS + 2 * DAY_MS })
  await mirror.savePages(run, [aPage(1, received)], START_MS + 2 * DAY_MS)
  const listed = async (most: number) => (await mirror.findListed(run, most)).map(({ id }) => id)

  expect(await listed(20)).toEqual([3, 1, 5, 6].map(customerId))
  expect(await listed(1)).toEqual([customerId(3)])
})

test('what a policy hides is searched for in no customer, neither as it is nor as it was', async () => {
  const mirror = await aMirror()
  await night(mirror, 1, [aCustomer(1, { name: 'Before', email: 'before@example.com' }), ...customers(2, 5)])
  await night(mirror, 2, ALL_FIVE)
  await night(mirror, 3, WITHOUT_1_AND_2)
  const nowMs = START_MS + 4 * DAY_MS
  const privacy = privacyPolicy({ hash: ['email'], key: 'the key of a policy' })
  const run = await mirror.startRun({ organization: 'acme', trigger: 'sync', nowMs, privacy })
  while (await mirror.applyPrivacy(run, nowMs));
  await mirror.savePages(run, [aPage(1, WITHOUT_1_AND_2)], nowMs)
  const candidates = await mirror.findRemovalCandidates(run, { rule: RULE, proof: 'proven' })

  expect(candidates.map(({ email }) => email)).toEqual([null, null])
  expect(candidates[0]?.earlier.map(({ name, email }) => [name, email])).toEqual([
    ['Customer 1', null],
    ['Before', null],
  ])
  expect((await mirror.findListed(run, 1)).map(({ name, email }) => [name, email])).toEqual([['Customer 3', null]])
})
