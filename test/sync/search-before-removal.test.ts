import { expect, test } from 'vitest'
import type { Mirror } from '../../src/store/mirror.ts'
import { type Mirroring, mirrorOrganization } from '../../src/sync/mirror-organization.ts'
import { changes, fateOf, fates } from '../store/nights.ts'
import { customerId, type SentRecord, START_MS, DAY_MS } from '../support/builders.ts'
import { mirroring } from '../support/listed-source.ts'
import { aMirror, aPlayedMirror, tamper } from '../support/mirror-file.ts'
import {
  aDatedCustomer,
  BROKEN,
  datedCustomers,
  EVERY_CUSTOMER,
  OUTAGES,
  type SearchedService,
  searchedSource,
  WORKING,
} from '../support/mirrored-sandbox.ts'
import { someOf } from '../support/seeds.ts'

const LIST = datedCustomers(1, 150)
const CONTRADICTED = { proof: 'unproven', reasons: ['contradicted'] }
const WITHOUT_50 = LIST.filter(({ id }) => id !== customerId(50))

test.each(someOf(Object.entries(WORKING)))(
  'a customer that the list hides is not removed, if the service searches %s',
  async (_, search) => {
    const mirror = await aPlayedMirror(lackingOne)
    expect(fateOf(mirror, 50)).toBe('missing')

    const { report } = await night(mirror, 3, { shown: WITHOUT_50, listed: LIST, search })

    expect(report).toMatchObject({ status: 'complete', ...CONTRADICTED, missing: 0, removed: 0, held: 0 })
    expect(fateOf(mirror, 50)).toBe('listed')
    expect(changes(mirror)).toEqual([])
    const certificate = { ...CONTRADICTED, found: [customerId(50)] }
    expect(await mirror.findRun(report.runId ?? 0)).toMatchObject({ proof: 'unproven', certificate })
  },
)

test.each([
  ['a change', { email: 'changed@example.com' }],
  ['a rejected record', { email: 'changed@example.com', phone: ['1', '2'] }],
])('a customer whose row was edited by hand is found by the values read last, in %s', async (_, last) => {
  const mirror = await aMirror()
  await night(mirror, 1, { shown: LIST })
  const changed = LIST.map((sent) => (sent['id'] === customerId(50) ? { ...sent, ...last } : sent))
  await night(mirror, 2, { shown: changed })
  tamper(mirror.file, `UPDATE customers SET email = 'x@y.z', username = NULL, name = NULL WHERE id = ?`, customerId(50))
  await night(mirror, 3, { shown: WITHOUT_50 })
  const renamed = { ...aDatedCustomer(50), name: 'Other', username: 'other', email: 'changed@example.com' }

  const { report } = await night(mirror, 4, { shown: WITHOUT_50, listed: [...WITHOUT_50, renamed] })

  expect(report).toMatchObject({ reasons: ['contradicted'], removed: 0 })
})

const { 'the network': reset, 'a 503': unavailable } = OUTAGES
const USELESS = { ...BROKEN, 'with the whole list': EVERY_CUSTOMER, 'with no answer': reset, 'with 503': unavailable }

test.each(someOf(Object.entries(USELESS)))(
  'a service that answers a search %s still removes customers after two proven scans',
  async (_, search) => {
    const mirror = await aPlayedMirror(lackingOne)

    const { report, texts } = await night(mirror, 3, { shown: WITHOUT_50, search })

    expect(report).toMatchObject({ status: 'complete', proof: 'proven', reasons: [], removed: 1 })
    expect(texts.length).toBeLessThanOrEqual(9)
  },
)

test.each([...Object.entries(OUTAGES), ['a stop', undefined] as const])(
  '%s during the searches ends them, and costs neither the run nor its proof; the next one searches by address, username and name, and removes',
  async (_, failure) => {
    const mirror = await aPlayedMirror(lackingOne)
    const stop = new AbortController()
    const stopped = () => {
      stop.abort()
      return Promise.reject(stop.signal.reason)
    }
    const outage = failure ?? stopped

    const { report, error, texts } = await night(mirror, 3, { shown: WITHOUT_50, outage }, { signal: stop.signal })

    expect(error).toBeUndefined()
    expect(texts).toHaveLength(1)
    expect(report).toMatchObject({ status: 'complete', proof: 'proven', missing: 1, removed: 0 })
    expect(fateOf(mirror, 50)).toBe('missing')
    const next = await night(mirror, 4, { shown: WITHOUT_50 })
    expect(next.texts).toEqual(expect.arrayContaining(['customer-50@example.com', 'customer-50', 'Customer 50']))
    expect(next.texts).toHaveLength(6)
    expect(next.report).toMatchObject({ status: 'complete', proof: 'proven', reasons: [], removed: 1 })
    expect(fateOf(mirror, 50)).toBe('removed')
  },
)

test.each([
  ['closes the connection', OUTAGES['the network']],
  ['answers with 503', OUTAGES['a 503']],
  ['answers with 403', BROKEN['with 403']],
])('a firewall that %s where it dislikes a name keeps no removal back, and the run counts it', async (_, refuse) => {
  const mirror = await aMirror()
  const odd = { name: "O'Neil", username: "o'neil", email: "o'neil@example.com" }
  const list = LIST.map((sent) => (sent['id'] === customerId(50) ? { ...sent, ...odd } : sent))
  const shown = list.filter(({ id }) => id !== customerId(50) && id !== customerId(60))
  const search: NonNullable<SearchedService['search']> = async (listed, text) =>
    text.includes("'") ? refuse() : WORKING['for any part, in any case'](listed, text)
  await night(mirror, 1, { shown: list })
  await night(mirror, 2, { shown })

  const { report } = await night(mirror, 3, { shown, search })

  expect(report).toMatchObject({ proof: 'proven', missing: 0, removed: 2, searchesRefused: 3 })
  expect(await mirror.findRun(report.runId ?? 0)).toMatchObject({ searchesRefused: 3 })
})

const MANY = datedCustomers(1, 800)
const WITHOUT_60 = MANY.slice(60)
const NEWER = aDatedCustomer(0)

test('if a hundred requests cannot search for all removals, one customer found holds back all the others', async () => {
  const mirror = await aMirror()
  await night(mirror, 1, { shown: MANY })
  await night(mirror, 2, { shown: [NEWER, ...WITHOUT_60] })

  const { report, texts } = await night(mirror, 3, { shown: [NEWER, ...WITHOUT_60], listed: [NEWER, ...MANY] })

  expect(report).toMatchObject({ ...CONTRADICTED, missing: 0, removed: 0, held: 59 })
  expect(texts.length).toBeLessThanOrEqual(100)
  expect(fates(mirror)).toEqual({ listed: 742, missing: 59, removed: 0 })
  const runId = report.runId ?? 0
  expect(await mirror.listHeldRemovals()).toMatchObject([{ runId, organization: 'acme', held: 59 }])
  expect(await mirror.approveRemovals(runId, START_MS + 4 * DAY_MS)).toBe(59)
})

test('where a guard holds the absent back, no search is made', async () => {
  const mirror = await aMirror()
  await night(mirror, 1, { shown: LIST })
  const shown = [NEWER, ...LIST.slice(30)]
  await night(mirror, 2, { shown }, { removals: { after: 2, maxShare: 1 } })

  const { report, texts } = await night(mirror, 3, { shown })

  expect(report).toMatchObject({ held: 30, removed: 0 })
  expect(texts).toEqual([])
})

test('by a clock that is days behind, a list that lacks the newest customers removes none of them', async () => {
  const mirror = await aMirror()
  const older = LIST.slice(3)
  // A stopped replica: its searches find the newest customers no more than its pages.
  const nightBehind = async (n: number, shown: SentRecord[]) => {
    const { source, texts } = searchedSource({ shown })
    const { report } = await night(mirror, n, { shown }, { source: { ...source, clockOffsetMs: 4 * DAY_MS } })
    return { reasons: report.reasons, texts }
  }
  await nightBehind(-4, LIST)

  for (const n of [-3, -2, -1]) expect(await nightBehind(n, older)).toEqual({ reasons: ['older-list'], texts: [] })

  expect(fates(mirror)).toEqual({ listed: 150, missing: 0, removed: 0 })
})

/** A list in which neither ids nor creation times show the order: its scans can only settle. */
const inHalves = (list: readonly SentRecord[]) => [...list.slice(75), ...list.slice(0, 75)]

test.each(['for any part, in any case', 'by e-mail only', 'by username only'] as const)(
  'a customer who left is missing after one settled scan, and removed after two unless a search finds the customer: %s',
  async (kind) => {
    const mirror = await aMirror()
    const [whole, shown] = [inHalves(LIST), inHalves(WITHOUT_50)]
    await night(mirror, 1, { shown: whole })
    const first = await night(mirror, 2, { shown })
    const moved = await night(mirror, 3, { shown, listed: whole, search: WORKING[kind] })
    const [again, left] = [await night(mirror, 4, { shown }), await night(mirror, 5, { shown })]

    expect(first.report).toMatchObject({ status: 'complete', proof: 'settled', missing: 1, removed: 0 })
    expect(moved.report).toMatchObject({ proof: 'unproven', missing: 0, removed: 0 })
    expect(moved.report.reasons).toContain('contradicted')
    expect(again.report).toMatchObject({ proof: 'settled', missing: 1, removed: 0 })
    expect(left.report).toMatchObject({ proof: 'settled', missing: 0, removed: 1 })
    const freshMs = START_MS + 5 * DAY_MS
    expect(await mirror.listFreshness()).toMatchObject([{ readAsOfMs: freshMs, provenAsOfMs: freshMs }])
  },
)

test.each(Object.entries(USELESS))(
  'after settled scans, a service that answers a search %s removes no customer, and the run ends like its scan',
  async (_, search) => {
    const mirror = await aMirror()
    const shown = inHalves(WITHOUT_50)
    await night(mirror, 1, { shown: inHalves(LIST) })
    for (const n of [2, 3]) {
      const { report } = await night(mirror, n, { shown, search })
      expect(report).toMatchObject({ status: 'complete', proof: 'settled', missing: 1, removed: 0 })
    }
  },
)

async function lackingOne(mirror: Mirror) {
  await night(mirror, 1, { shown: LIST })
  await night(mirror, 2, { shown: WITHOUT_50 })
}

async function night(mirror: Mirror, n: number, service: SearchedService, overrides: Partial<Mirroring> = {}) {
  const { source, texts } = searchedSource(service)
  const now = () => START_MS + n * DAY_MS
  const told = mirroring(mirror, source, { scan: 'chain', pageSize: 100, now, ...overrides })
  return { ...(await mirrorOrganization(told)), texts }
}
