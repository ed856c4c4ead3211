import { expect, test } from 'vitest'
import { RateLimited, SourceUnavailable } from '../../src/errors/errors.ts'
import { RequestBudget } from '../../src/quick/quick-scan.ts'
import type { Conclusion } from '../../src/quick/comparison.ts'
import { searchForGone, usualQuickLimit } from '../../src/quick/read-quickly.ts'
import type { Window } from '../../src/scan/window.ts'
import type { Asking } from '../../src/source/customers.ts'
import type { Mirror } from '../../src/store/mirror.ts'
import { type Mirroring, mirrorOrganization } from '../../src/sync/mirror-organization.ts'
import { fates } from '../store/nights.ts'
import { customerId, customers, MINUTE_MS, type SentRecord, START_MS } from '../support/builders.ts'
import { dice } from '../support/dice.ts'
import { listedSource, mirroring, pageOfList, type PageSource, readBy } from '../support/listed-source.ts'
import { aMirror, aPlayedMirror, rowsOf } from '../support/mirror-file.ts'
import {
  aDatedCustomer,
  anAbsentCustomer,
  BROKEN,
  CONTROL,
  datedCustomers,
  searchedSource,
  type SearchKind,
  WORKING,
} from '../support/mirrored-sandbox.ts'

const USUAL = 200

/** A mirror in which this list was read in one night, and its runs, each an hour after the one before. */
async function aMirrored(list: readonly SentRecord[], overrides: Partial<Mirroring> = {}) {
  let hours = 0
  const runIn = async (there: Mirror, source: PageSource, settings: Partial<Mirroring> = {}) => {
    const nowMs = START_MS + hours * 60 * MINUTE_MS
    const told = { scan: 'chain', now: () => nowMs, ...overrides, ...settings } as const
    return (await mirrorOrganization(mirroring(there, source, told))).report
  }
  const mirror = await aPlayedMirror((made) => runIn(made, listedSource(list)), list)
  const run = (source: PageSource, settings: Partial<Mirroring> = {}) => {
    hours += 1
    return runIn(mirror, source, settings)
  }
  const night = (shown: readonly SentRecord[]) => run(listedSource(shown))
  const quickly = (shown: readonly SentRecord[], settings: Partial<Mirroring> = {}) =>
    run(searchedSource({ shown }).source, { requestLimit: USUAL, ...settings })
  return { mirror, run, night, quickly }
}

const without = (list: readonly SentRecord[], ...gone: number[]) =>
  list.filter(({ id }) => !gone.map(customerId).includes(String(id)))

const missingIn = (mirror: Mirror) =>
  rowsOf(mirror.file, 'SELECT id FROM customers WHERE missing_since IS NOT NULL ORDER BY id').map(({ id }) => id)

const LISTED = datedCustomers(10, 1016)
const chance = dice(1)
/** The same list of a service that sorts by name: in no order that can be seen. */
const BY_NAME = LISTED.map((record) => ({ record, at: chance.next() }))
  .toSorted((one, other) => one.at - other.at)
  .map(({ record }) => record)

test('a quick run saves who came, marks who left, reads few pages, and says each change once', async () => {
  const { mirror, quickly } = await aMirrored(LISTED)
  const fresh = (await mirror.listFreshness()).map(({ readAsOfMs, provenAsOfMs }) => ({ readAsOfMs, provenAsOfMs }))

  const list = [aDatedCustomer(8), aDatedCustomer(9), ...without(LISTED, 500, 777)]
  const report = await quickly(list)

  const quick = { status: 'partial', proof: 'unproven', reasons: ['quick'] }
  expect(report).toMatchObject({ ...quick, inserted: 2, updated: 0, missing: 2, removed: 0, held: 0 })
  expect(await mirror.findRun(report.runId ?? 0)).toMatchObject({ certificate: { isWhole: false, reach: 0 } })
  expect(report.requests).toBeLessThan(40)
  expect(report.trustedPages).toBeGreaterThan(60)
  expect(missingIn(mirror)).toEqual([customerId(500), customerId(777)])
  expect(await mirror.listFreshness()).toMatchObject(fresh)
  const again = await quickly(list)
  expect(again).toMatchObject({ inserted: 0, updated: 0, missing: 0 })
  expect(again.requests).toBeLessThanOrEqual(8)
})

test('a quick run stops at its limit and says so; the next one goes on', async () => {
  const { mirror, quickly } = await aMirrored(LISTED)
  const list = without(LISTED, 100, 300, 500, 700, 900)

  const first = await quickly(list, { requestLimit: 15 })
  expect(first.reasons).toEqual(['quick', 'request-limit'])
  expect(first.requests).toBeLessThanOrEqual(15)
  expect(missingIn(mirror)).toEqual([])

  // Those whom it missed at their places are searched for, as many as the limit allows.
  const later = []
  for (let time = 0; time < 3; time += 1) later.push(await quickly(list, { requestLimit: 30 }))
  expect(later.every(({ requests }) => requests <= 30)).toBe(true)
  expect(later.at(-1)?.reasons).toEqual(['quick'])
  expect(missingIn(mirror)).toHaveLength(5)
  const nineteenOfTwenty = LISTED.filter((_, at) => at % 20 > 0)
  const usual = await quickly(nineteenOfTwenty, { requestLimit: 'usual' })
  expect(usual.requests).toBe(usualQuickLimit(LISTED.length, 100))
})

test('where the last customer left and whole pages of new ones follow, a quick run says that it is open who left', async () => {
  const before = LISTED.toReversed()
  const { mirror, quickly } = await aMirrored(before)
  const today = { created_at: new Date(START_MS).toISOString() }
  const more = Array.from({ length: 24 }, (_, index) => aDatedCustomer(5000 + index, today))

  const report = await quickly([...before.slice(0, -1), ...more])

  expect(report).toMatchObject({ inserted: 24, missing: 0, reasons: ['quick', 'not-confirmed'] })
  expect(missingIn(mirror)).toEqual([])
})

test('where exactly the newest customers are gone, the list may be an older one: they are not marked until a newer one comes, in the same order', async () => {
  const { mirror, quickly } = await aMirrored(LISTED)

  const stale = await quickly(without(LISTED, 10, 11))
  expect(stale).toMatchObject({ missing: 0, reasons: ['quick', 'older-list'] })
  expect(await quickly(BY_NAME)).toMatchObject({ status: 'partial', error: undefined })
  await quickly([aDatedCustomer(9), ...without(LISTED, 10, 11)])

  expect(missingIn(mirror)).toEqual([customerId(10), customerId(11)])
})

const OPEN = ['quick', 'not-confirmed']
const { 'for any part, in any case': ANY_PART, 'by name only': BY_NAME_ONLY } = WORKING
const { 'with no customer, whatever the text': FINDS_NONE } = BROKEN

const CAME = [aDatedCustomer(8), aDatedCustomer(9)]

/** Who left: one in the list, and two at its end. In the order of names, one customer. */
const LEFT = { list: LISTED, gone: [500, 1015, 1016] }
const LEFT_BY_NAME = { list: BY_NAME, gone: [400] }

type Left = typeof LEFT
test.each<[string, SearchKind, Left, came: SentRecord[], listed: SentRecord[], missing: number, reasons: string[]]>([
  ['new ones came, and a search finds them', WORKING['by e-mail only'], LEFT, CAME, LISTED, 1, ['quick']],
  ['new ones came, and no search finds anyone', FINDS_NONE, LEFT, CAME, LISTED, 1, OPEN],
  ['new ones came, and no search that works finds them', ANY_PART, LEFT, CAME, [], 3, ['quick']],
  ['none came, so that none is needed', FINDS_NONE, LEFT, [], [], 3, ['quick']],
  ['by name, and the search works', ANY_PART, LEFT_BY_NAME, [], [], 1, ['quick']],
  ['by name, and the search finds no customer', FINDS_NONE, LEFT_BY_NAME, [], [], 0, OPEN],
  ['by name, and it looks at one field alone', BY_NAME_ONLY, LEFT_BY_NAME, [], [], 0, OPEN],
])('customers who left are missing, or wait: %s', async (_, search, { list, gone }, came, also, missing, reasons) => {
  const { mirror, run } = await aMirrored(list)
  const shown = [...came, ...without(list, ...gone)]
  const { source } = searchedSource({ shown, listed: [...shown, ...also], search })

  expect(await run(source, { requestLimit: USUAL })).toMatchObject({ inserted: came.length, missing, reasons })
  // A second run changes nothing of that.
  if (list === BY_NAME) expect(await run(source, { requestLimit: USUAL })).toMatchObject({ missing: 0, reasons })
  expect(missingIn(mirror)).toEqual(gone.slice(0, missing).map(customerId))
})

test('a customer whose record has lost its id does not become missing, run after run', async () => {
  const { mirror, run } = await aMirrored(LISTED)
  const list = without(LISTED, 500).map((sent) => (sent['id'] === customerId(499) ? { ...sent, id: null } : sent))
  const { source } = searchedSource({ shown: list, search: BROKEN['with 422'] })

  const first = await run(source, { requestLimit: USUAL })
  const second = await run(source, { requestLimit: USUAL })

  expect([first, second]).toMatchObject([{ status: 'partial' }, { status: 'partial', missing: 0 }])
  expect(missingIn(mirror)).toEqual([])
})

test('customers found or missed by a quick run while a scan was interrupted are not absent for the run that continues it', async () => {
  const { mirror, run, quickly } = await aMirrored(LISTED, { removals: { after: 1, maxShare: 0.1 } })
  const stop = new AbortController()
  const onProgress = ({ pages }: { pages: number }) => void (pages >= 20 && stop.abort())
  const interrupted = await run(listedSource(LISTED), { concurrency: 1, signal: stop.signal, onProgress })
  const list = LISTED.toSpliced(30, 1, { ...LISTED[30], name: 'Renamed' }, aDatedCustomer(5000))

  expect(await quickly(without(list, 25, 26))).toMatchObject({ status: 'partial', inserted: 1, updated: 1, missing: 2 })
  const continued = await run(listedSource(list))

  expect(continued).toMatchObject({ proof: 'proven', missing: 0, removed: 0, resumedFrom: interrupted.runId })
  expect(fates(mirror)).toEqual({ listed: 1008, missing: 0, removed: 0 })
})

test('by themselves, quick runs send at most a twelfth of the requests of a full scan, or 40', () => {
  const limits = [1, 41_000, 43_000, 1_000_000].map((count) => usualQuickLimit(count, 100))
  expect([...limits, usualQuickLimit(43_000, 50)]).toEqual([40, 40, 42, 959, 83])
})

test('a service that asks to wait for long, or fails, ends the quick run, and what was read is saved', async () => {
  const { mirror, run, quickly } = await aMirrored(LISTED)
  const list = [aDatedCustomer(9), ...without(LISTED, 500)]
  const { source } = searchedSource({ shown: list })
  let answers = 0
  const failing = readBy(source, async (window, options) => {
    if (++answers > 3) throw new RateLimited('429', { code: 'rate-limited', status: 429, waitMs: 3_600_000 })
    return source.readPage(window, options)
  })

  const report = await run(failing, { requestLimit: USUAL, concurrency: 1 })

  expect(report).toMatchObject({ status: 'failed', error: { code: 'rate-limited' }, inserted: 1, missing: 0 })
  expect(await quickly(list)).toMatchObject({ status: 'partial', inserted: 0, missing: 1 })
  expect(missingIn(mirror)).toEqual([customerId(500)])
})

test('customers who came or returned in a quick run do not let more be marked at once than without it', async () => {
  const [known, back, came] = [LISTED.slice(0, 215), datedCustomers(2000, 2009), datedCustomers(2010, 2040)]
  const { mirror, night, quickly } = await aMirrored([...known, ...back, ...datedCustomers(3000, 3009)])
  // Half of them stay away.
  expect([await night(known), await night(known)]).toMatchObject([{ missing: 20 }, { removed: 20 }])
  await quickly([...known, ...back, ...came])

  // 22 of 215 are more than a tenth; 22 of 256 would not be.
  const report = await night([...known.slice(22), ...back, ...came, aDatedCustomer(1)])

  expect(report).toMatchObject({ held: 22, missing: 0 })
  expect(fates(mirror)).toMatchObject({ missing: 0 })
})

test('where so many left at once that a person decides, those who may have left count too', async () => {
  const { mirror, run } = await aMirrored(LISTED)
  const shown = [...datedCustomers(1, 9), ...LISTED.toSpliced(400, 95).slice(0, -9)]
  const { source } = searchedSource({ shown, search: FINDS_NONE })

  expect(await run(source, { requestLimit: USUAL })).toMatchObject({ inserted: 9, missing: 0, held: 95 + 9 })
  expect(missingIn(mirror)).toEqual([])
})

const NONE_FOR_CERTAIN = { gone: [], pending: [5, 8, 9] }

test.each<[what: string, told: Searching, left: Pick<Conclusion, 'gone' | 'pending'>, searches: number]>([
  ['all of them can be made', { most: 12, requestsEach: 1 }, { gone: [8, 9], pending: [5] }, 6],
  ['the requests suffice for one', { most: 11, requestsEach: 1 }, { gone: [8], pending: [5, 9] }, 4],
  ['the requests suffice for none', { most: 8, requestsEach: 1 }, NONE_FOR_CERTAIN, 0],
  ['both are found', { most: 12, requestsEach: 1, listed: 9 }, { gone: [], pending: [5] }, 4],
  ['those that were repeated leave too few', { most: 13, requestsEach: 3 }, NONE_FOR_CERTAIN, 4],
  ['none is left between those for one customer', { most: 14, requestsEach: 5 }, NONE_FOR_CERTAIN, 3],
  ['one of them fails alone', { most: 12, requestsEach: 1, fails: 'customer-8' }, { gone: [9], pending: [5, 8] }, 6],
  ['one field alone is searched', { most: 20, requestsEach: 1, isSearchedBy: ['email'] }, NONE_FOR_CERTAIN, 4],
])('a customer is gone where searches show it, and one who needs none anyway: %s', async (_, told, left, searches) => {
  expect(await searching(told)).toEqual({ left, searches })
  const withSeven = { ...left, gone: [7, ...left.gone] }
  expect(await searching({ ...told, certain: [7] })).toEqual({ left: withSeven, searches })
})

test('where every search fails, no request is sent beyond the limit, not even the page that shows whether the service is up', async () => {
  const budget = new RequestBudget(10)
  let sent = 0
  const source = {
    readPage: budget.limited(async (window: Window) => {
      sent += 1
      return pageOfList([], window)
    }),
    search: budget.limited(async (_: string, { mayAskMore }: Asking) => {
      sent += mayAskMore?.() === true ? 2 : 1
      throw new SourceUnavailable('503', { code: 'server-error', status: 503 })
    }),
  }
  const mirror = { findGone: async () => [anAbsentCustomer(8)], findListed: async () => [CONTROL, CONTROL] }
  const run = await (await aMirror()).startRun({ organization: 'acme', trigger: 'sync', nowMs: START_MS })
  const { signal } = new AbortController()
  const conclusion = { gone: [8], pending: [], isCertain: () => false }
  const left = await searchForGone({ source, budget, mirror, random: () => 0, signal }, run, conclusion, 100)
  expect({ sent, left }).toEqual({ sent: 10, left: { gone: [], pending: [8] } })
})

/** Searches for the customers 8 and 9, who are not listed, by address and username, with `most` requests; customer 5 is pending before. */
async function searching(told: Searching) {
  const { most, requestsEach, fails, listed = 5, certain = [], isSearchedBy = ['email', 'username'] } = told
  const budget = new RequestBudget(most)
  let [searches, pages] = [0, 0]
  const source = {
    async readPage(window: Window) {
      pages += 1
      expect({ window, hasFailed: fails !== undefined }).toEqual({ window: { page: 1, size: 100 }, hasFailed: true })
      return pageOfList([], window)
    },
    async search(text: string) {
      searches += 1
      for (let again = 1; again < requestsEach; again += 1) budget.take()
      if (text === fails) throw new SourceUnavailable('503', { code: 'server-error', status: 503 })
      const list = customers(1, listed).filter((record) => isSearchedBy.some((field) => record[field] === text))
      return pageOfList(list, { page: 1, size: 100 })
    },
  }
  const findGone = async (_: unknown, rowIds: readonly number[]) => rowIds.map((rowId) => anAbsentCustomer(rowId))
  const mirror = { findGone, findListed: async () => [CONTROL] }
  const run = await (await aMirror()).startRun({ organization: 'acme', trigger: 'sync', nowMs: START_MS })
  const { signal } = new AbortController()
  const isCertain = ({ id = '' }) => certain.map(customerId).includes(id)
  const conclusion = { gone: [...certain, 8, 9], pending: [5], isCertain }
  const left = await searchForGone({ source, budget, mirror, random: () => 0, signal }, run, conclusion, 100)
  expect(budget.left).toBe(Math.max(0, most - searches * requestsEach - pages))
  return { left, searches }
}

type Searching = {
  most: number
  requestsEach: number
  fails?: string
  /** Searches find the customers from 1 to this one. */
  listed?: number
  certain?: number[]
  isSearchedBy?: string[]
}
