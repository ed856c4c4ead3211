import * as fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import type { Mirror } from '../../src/model/mirror.ts'
import { openMirror } from '../../src/store/mirror.ts'
import { addsUp, noRecords, type RecordCounts } from '../../src/model/report.ts'
import {
  aCustomer,
  anEnding,
  aPage,
  aSortedCustomer,
  customerId,
  customers,
  type SentRecord,
  START_MS,
} from '../support/builders.ts'
import { aMirror, aMirrorFile, dump, rowsOf } from '../support/mirror-file.ts'
import { seeds } from '../support/seeds.ts'

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
