import { expect, test } from 'vitest'
import type { Mirror } from '../../src/model/mirror.ts'
import { mirrorOrganization } from '../../src/sync/mirror-organization.ts'
import { DAY_MS, fateOf } from '../store/nights.ts'
import { aCustomer, customerId, type SentRecord, START_MS } from '../support/builders.ts'
import { mirroring, pageOfList, sourceOf } from '../support/listed-source.ts'
import { aMirror } from '../support/mirror-file.ts'
import { type SearchKind, WORKING } from '../support/mirrored-sandbox.ts'

const LENGTH = 600

/** A list by name, in which a customer is inserted at the top before every request: nothing there proves a scan. */
class ListByName {
  readonly #customers = new Map<string, SentRecord>()
  #inserted = 0
  /** Called before each request with its number within the night. */
  between: (request: number) => void = () => {}

  constructor() {
    for (let n = 1; n <= LENGTH; n += 1) this.set(n)
  }

  /** Names, ids and creation times follow three different orders. */
  set(n: number, overrides: SentRecord = {}): void {
    const createdAt = new Date(START_MS - ((n * 7919) % 10_007) * 3_600_000).toISOString()
    const name = `N ${String((n * 37) % 1009).padStart(4, '0')}`
    this.#customers.set(customerId(n), aCustomer(n, { name, created_at: createdAt, ...overrides }))
  }

  delete(n: number): void {
    this.#customers.delete(customerId(n))
  }

  insert(): void {
    this.#inserted += 1
    this.set(10_000 + ((this.#inserted * 613) % 5003), { name: `A ${String(10_000 - this.#inserted)}` })
  }

  source(search: SearchKind) {
    let requests = 0
    const listed = () =>
      [...this.#customers.values()].toSorted((a, b) => (String(a['name']) < String(b['name']) ? -1 : 1))
    return sourceOf(
      async (window) => {
        requests += 1
        this.insert()
        this.between(requests)
        return pageOfList(listed(), window)
      },
      (text) => search(listed(), text),
    )
  }
}

/** A settled scan is as fresh as a proven one. */
const freshOn = (atMs: number) => ({ readAsOfMs: atMs, provenAsOfMs: atMs })

test('a customer that left a list by name is missing after a settled scan, and removed after the second one', async () => {
  const [mirror, list] = [await aMirror(), new ListByName()]
  await night(mirror, 1, list)
  list.delete(50)

  expect(await night(mirror, 2, list)).toMatchObject({ status: 'complete', proof: 'settled', missing: 1, removed: 0 })
  expect(await night(mirror, 3, list)).toMatchObject({ status: 'complete', proof: 'settled', missing: 0, removed: 1 })
  expect(fateOf(mirror, 50)).toBe('removed')
  expect(await mirror.listFreshness()).toMatchObject([{ ...freshOn(START_MS + 3 * DAY_MS), proof: 'settled' }])
})

test.each(['for any part, in any case', 'by e-mail only', 'by username only'] as const)(
  'a customer that moves while two settled scans read past is not removed, where the service searches %s',
  async (kind) => {
    const [mirror, list] = [await aMirror(), new ListByName()]
    await night(mirror, 1, list)
    list.between = (request) => list.set(60, { name: request < 4 ? 'Z last' : 'N 0200' })

    expect(await night(mirror, 2, list)).toMatchObject({ missing: 1, removed: 0 })
    expect(fateOf(mirror, 60)).toBe('missing')
    const report = await night(mirror, 3, list, WORKING[kind])

    expect(report).toMatchObject({ status: 'complete', proof: 'unproven', removed: 0 })
    expect(report.reasons).toContain('contradicted')
    expect(fateOf(mirror, 60)).toBe('listed')
  },
)

async function night(
  mirror: Mirror,
  n: number,
  list: ListByName,
  search: SearchKind = WORKING['for any part, in any case'],
) {
  const now = () => START_MS + n * DAY_MS
  const told = mirroring(mirror, list.source(search), { scan: 'chain', pageSize: 100, concurrency: 1, now })
  return (await mirrorOrganization(told)).report
}
