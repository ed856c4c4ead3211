import * as fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import { TEXT_FIELDS } from '../../src/model/customer.ts'
import type { Mirror } from '../../src/model/mirror.ts'
import { addsUp, noRecords, type RecordCounts } from '../../src/model/report.ts'
import { openMirror } from '../../src/store/mirror.ts'
import {
  aCustomer,
  anEnding,
  aPage,
  aSortedCustomer,
  customerId,
  customers,
  MINUTE_MS,
  type SentRecord,
  START_MS,
} from '../support/builders.ts'
import { aMirror, aMirrorFile, dump, mirrorPages, rowsOf, valueOf } from '../support/mirror-file.ts'
import { seeds } from '../support/seeds.ts'

const LATER = { atMs: START_MS + MINUTE_MS }
const LATER_TEXT = '2026-01-05 02:01:00.000'

test('a customer is stored field by field as it was sent', async () => {
  const mirror = await aMirror()

  const { runId } = await mirrorPages(mirror, [[aCustomer(1, { phone: null, vip: true })]])

  expect(rowsOf(mirror.file, 'SELECT * FROM customers')).toMatchObject([
    {
      ...aCustomer(1),
      organization: 'acme',
      phone: null,
      created_at_utc: '2024-01-02 03:04:05',
      extra: '{"vip":true}',
      first_seen_at: '2026-01-05 02:00:00.000',
      changed_at: '2026-01-05 02:00:00.000',
      missing_since: null,
      removed_at: null,
      last_run_id: runId,
      updated_at: '2026-01-05 02:00:00.000',
      is_active: 1,
    },
  ])
})

test.each([...TEXT_FIELDS, 'vip'])('a change of %s is seen, stored and recorded with both values', async (field) => {
  const mirror = await aMirror()
  const column = field === 'vip' ? 'extra' : field
  await mirrorPages(mirror, [[aCustomer(1, { [field]: 'before' })]])

  await mirrorPages(mirror, [[aCustomer(1, { [field]: 'after' })]], LATER)

  const [change] = rowsOf(mirror.file, 'SELECT * FROM changes')
  const told = column === 'extra' ? ['{"vip":"before"}', '{"vip":"after"}'] : ['before', 'after']
  expect(change).toMatchObject({ id: customerId(1), change: 'changed', changed_at: LATER_TEXT })
  expect(JSON.parse(String(change?.['fields']))).toEqual({ [column]: told })
  expect(valueOf(mirror.file, `SELECT ${column} FROM customers`)).toBe(told[1])
})

test.each([
  ['failed', { status: 'failed', reasons: ['failed'], readToEnd: false }],
  ['was interrupted', { status: 'interrupted', reasons: ['interrupted'], readToEnd: false }],
  ['was a trial of some pages', { reasons: ['page-limit'], readToEnd: false }],
] as const)(
  'a first run that %s is no baseline: the next one completes it and records no changes',
  async (_, ending) => {
    const mirror = await aMirror()
    await mirrorPages(mirror, [customers(1, 5)], { ending })

    await mirrorPages(mirror, [[aCustomer(1, { name: 'Renamed' }), ...customers(2, 9)]], LATER)
    expect(rowsOf(mirror.file, 'SELECT * FROM changes')).toEqual([])

    await mirrorPages(mirror, [customers(10, 10)], { atMs: START_MS + 2 * MINUTE_MS })
    expect(rowsOf(mirror.file, 'SELECT id FROM changes')).toEqual([{ id: customerId(10) }])
  },
)

test('runs of two organizations may alternate page by page without mixing', async () => {
  const mirror = await aMirror()
  const ours = await mirror.startRun({ organization: 'acme', trigger: 'sync', nowMs: START_MS })
  const theirs = await mirror.startRun({ organization: 'globex', trigger: 'sync', nowMs: START_MS })
  for (let page = 1; page <= 3; page += 1) {
    await mirror.savePages(ours, [aPage(page, customers(page, page))], START_MS)
    await mirror.savePages(theirs, [aPage(page, customers(page, page, { name: 'Theirs' }))], START_MS)
  }

  expect([ours.records.inserted, theirs.records.inserted]).toEqual([3, 3])
  expect(dump(mirror.file)['runs']).toMatchObject([{ inserted: 3 }, { inserted: 3 }])
})

test('any text comes through byte for byte, and is the same text the next time', async () => {
  const mirror = await aMirror()
  const units = fc.array(fc.oneof(fc.integer({ min: 0, max: 0xffff }), fc.integer({ min: 0xd7f0, max: 0xe010 })))
  const texts = fc.sample(
    units.map((codes) => String.fromCharCode(...codes)),
    { numRuns: seeds(300), seed: 20260105 },
  )
  const page = texts.map((name, index) => aCustomer(index + 1, { name }))

  await mirrorPages(mirror, [page])

  const stored = rowsOf(mirror.file, 'SELECT hex(CAST(name AS BLOB)) AS name FROM customers ORDER BY id')
  expect(stored.map(({ name }) => name)).toEqual(
    texts.map((text) => hexOf(text.toWellFormed().replaceAll('\0', '\ufffd'))),
  )
  expect(await mirrorPages(mirror, [page], LATER)).toMatchObject({ unchanged: texts.length })
})

function hexOf(text: string): string {
  return Buffer.from(text).toString('hex').toUpperCase()
}

/** Windows of an initial sync: the second begins with the last customer of the first, and the third with the two last of it. */
const FIRST = { page: 1, size: 10 }
const SECOND = { page: 2, size: 9 }
const THIRD = { page: 3, size: 8 }

test('windows that overlap and are saved in one transaction give the same rows, counts and conflicts as one by one', async () => {
  const windows: Received[] = [
    [FIRST, customers(1, 10)],
    [SECOND, [aCustomer(10, { name: 'Renamed' }), ...customers(11, 18)]],
    [THIRD, [aCustomer(17), aCustomer(18, { phone: null }), ...customers(19, 24), aCustomer(24)]],
  ]
  const apart = await load(...windows)
  const mirror = await aMirror()
  const run = await mirror.startRun({ organization: 'acme', trigger: 'sync', nowMs: START_MS })

  const { pages } = await mirror.savePages(
    run,
    windows.map(([{ page }, records]) => aPage(page, records)),
    START_MS,
  )

  const saved = apart.saved.flatMap((one) => one.pages)
  expect(pages.map(({ rowIds }) => Array.from(rowIds))).toEqual(saved.map(({ rowIds }) => Array.from(rowIds)))
  expect(pages.map(({ unchanged }) => unchanged)).toEqual(saved.map(({ unchanged }) => unchanged))
  expect(run.records).toEqual(apart.records)
  expect(run.records).toMatchObject({ inserted: 24, duplicates: 4 })
  expect(run.warnings).toEqual({ conflicting_duplicate: 2 })
  for (const sql of ['SELECT row_id, id, name, phone FROM customers', 'SELECT * FROM edited_customers']) {
    expect(rowsOf(mirror.file, sql)).toEqual(rowsOf(apart.mirror.file, sql))
  }
})

type Received = [window: { page: number; size: number }, records: readonly SentRecord[]]

/** What became of the pages of an initial sync, each saved by itself. */
async function load(...pages: Received[]) {
  const mirror = await aMirror()
  const run = await mirror.startRun({ organization: 'acme', trigger: 'sync', nowMs: START_MS })
  const saved: Awaited<ReturnType<Mirror['savePages']>>[] = []
  for (const [window, records] of pages) {
    saved.push(await mirror.savePages(run, [aPage(window.page, records)], START_MS))
  }
  expect(rowsOf(mirror.file, 'SELECT id FROM customers')).toHaveLength(run.records.inserted)
  return { mirror, saved, warnings: run.warnings, records: run.records }
}

test('a page whose numbers do not add up is not saved, and says which page it was', async () => {
  const mirror = await aMirror()
  const run = await mirror.startRun({ organization: 'acme', trigger: 'sync', nowMs: START_MS })
  await mirror.savePages(run, [aPage(1, customers(1, 3))], START_MS)
  const before = dump(mirror.file)

  const saving = mirror.savePages(
    run,
    [aPage(2, customers(4, 6)), { ...aPage(3, customers(7, 9)), received: 4 }],
    START_MS,
  )

  await expect(saving).rejects.toMatchObject({ name: 'AccountingBroken', code: 'accounting' })
  await expect(saving).rejects.toThrow('acme, page 3')
  await expect(saving).rejects.not.toThrow(/example\.com|Customer 7/)
  expect(dump(mirror.file)).toEqual(before)
  expect(run).toMatchObject({ pages: 1, records: { received: 3, inserted: 3 } })
})

/** What a list may send: a customer in one of a few versions, the same one broken, or a record without an id. */
type Sent = { n: number; version: number; kind: 'customer' | 'broken' | 'anonymous' }
type Night = { saves: Sent[][][]; whole: boolean }

const sent = fc.record({
  n: fc.integer({ min: 1, max: 9 }),
  version: fc.integer({ min: 1, max: 3 }),
  kind: fc.oneof({ weight: 8, arbitrary: fc.constant('customer' as const) }, fc.constantFrom('broken', 'anonymous')),
})
const page = fc.array(sent, { maxLength: 6 })
const nights = fc.array(
  fc.record({
    saves: fc.array(fc.array(page, { minLength: 1, maxLength: 3 }), { maxLength: 4 }),
    whole: fc.oneof({ weight: 3, arbitrary: fc.constant(true) }, fc.constant(false)),
  }),
  { minLength: 1, maxLength: 5 },
)

test('over any nights, the mirror equals a plain model, and every number adds up', async () => {
  const mirror = await openMirror(aMirrorFile())
  onTestFinished(() => mirror.close())
  let example = 0

  await fc.assert(
    fc.asyncProperty(nights, async (listed) => {
      const organization = `organization-${(example += 1)}`
      const model = new Model()
      for (const night of listed) {
        const report = await mirrorNight(mirror, organization, night)
        expect(report).toMatchObject(model.receive(night))
        expect(addsUp(report)).toBe(true)
      }
      expect(storedCustomers(mirror, organization)).toEqual(model.customers())
      expect(storedChanges(mirror, organization)).toEqual(model.changes)
      expect((await mirror.listRejects({ organization, limit: 99 })).map(({ payload }) => payload).toSorted()).toEqual(
        [...model.openRejects.values()].toSorted(),
      )
    }),
    { numRuns: seeds(150) },
  )

  expect(
    rowsOf(
      mirror.file,
      'SELECT id FROM runs WHERE received <> inserted + updated + unchanged + duplicates + rejected OR returned > updated',
    ),
  ).toEqual([])
})

async function mirrorNight(mirror: Mirror, organization: string, { saves, whole }: Night) {
  const run = await mirror.startRun({ organization, trigger: 'sync', nowMs: START_MS })
  let number = 0
  for (const pages of saves) {
    const sorted = pages.map((records) => aPage((number += 1), records.map(recordOf)))
    await mirror.savePages(run, sorted, START_MS)
  }
  return mirror.finishRun(run, anEnding(whole ? {} : { status: 'failed', readToEnd: false }), START_MS)
}

function recordOf({ n, version, kind }: Sent): SentRecord {
  if (kind === 'anonymous') return { name: `Nobody ${n}` }
  const broken = kind === 'broken' ? { email: [] } : {}
  return aCustomer(n, { name: `Version ${version}`, ...broken })
}

function storedCustomers(mirror: Mirror, organization: string): unknown[] {
  const sql = 'SELECT id, name, username FROM customers WHERE organization = ? ORDER BY id'
  return rowsOf(mirror.file, sql, organization)
}

function storedChanges(mirror: Mirror, organization: string): unknown[] {
  return rowsOf(mirror.file, 'SELECT id, change, fields FROM changes WHERE organization = ? ORDER BY seq', organization)
}

/** The same promises in the plainest way there is: maps in memory, one record at a time. */
class Model {
  readonly #nameOf = new Map<string, string>()
  readonly openRejects = new Map<string, string>()
  readonly changes: { id: string; change: string; fields: string | null }[] = []
  #hasBaseline = false

  customers(): unknown[] {
    const ids = [...this.#nameOf.keys()].toSorted()
    return ids.map((id) => ({ id, name: this.#nameOf.get(id), username: `customer-${Number.parseInt(id, 16)}` }))
  }

  receive({ saves, whole }: Night): RecordCounts {
    const counts = noRecords()
    const seen = new Set<string>()
    const rejected = new Map<string, string>()
    for (const one of saves.flat(2)) {
      counts.received += 1
      if (one.kind === 'customer') this.#receiveCustomer(one, seen, counts)
      else receiveReject(one, rejected, counts)
    }
    if (whole) this.openRejects.clear()
    for (const [key, payload] of rejected) this.openRejects.set(key, payload)
    this.#hasBaseline ||= whole
    return counts
  }

  #receiveCustomer({ n, version }: Sent, seen: Set<string>, counts: RecordCounts): void {
    const id = aSortedCustomer(n).id
    const name = `Version ${version}`
    const before = this.#nameOf.get(id)
    if (seen.has(id)) {
      counts.duplicates += 1
      return
    }
    seen.add(id)
    if (before === name) {
      counts.unchanged += 1
      return
    }
    this.#nameOf.set(id, name)
    counts[before === undefined ? 'inserted' : 'updated'] += 1
    if (!this.#hasBaseline) return
    const fields = before === undefined ? null : JSON.stringify({ name: [before, name] })
    this.changes.push({ id, change: before === undefined ? 'added' : 'changed', fields })
  }
}

function receiveReject(one: Sent, rejected: Map<string, string>, counts: RecordCounts): void {
  const payload = JSON.stringify(recordOf(one))
  if (one.kind === 'anonymous') {
    counts.rejected += 1
    rejected.set(payload, payload)
    return
  }
  const id = customerId(one.n)
  counts[rejected.has(id) ? 'duplicates' : 'rejected'] += 1
  if (!rejected.has(id)) rejected.set(id, payload)
}
