import type { Mirror } from '../../src/model/mirror.ts'
import type { Proof } from '../../src/model/report.ts'
import * as fc from 'fast-check'
import { aCustomer, customerId, START_MS } from '../support/builders.ts'
import { mirrorPages, rowsOf } from '../support/mirror-file.ts'
import { DAY_MS, quickEnding, rowIdsOf, scanEnding } from '../store/nights.ts'

const KNOWN = [1, 2, 3, 4, 5]
const HOUR_MS = DAY_MS / 24

/** What a night finds of each customer; the last one is always listed, so that the list is never empty. */
const aNight: fc.Arbitrary<Night> = fc.record({
  organization: fc.constantFrom('acme', 'globex'),
  hoursLater: fc.constantFrom(1, 24, 24, 30, 60),
  finds: fc.tuple(
    ...KNOWN.map(() =>
      fc.constantFrom<Found>('same', 'same', 'renamed', 'nameless', 'moved', 'absent', 'absent', 'rejected'),
    ),
  ),
  proof: fc.constantFrom<Proof>('proven', 'proven', 'settled', 'unproven'),
  /** Whether it is a quick run, which receives only the customers that changed; the first run of an organization is none. */
  isPartial: fc.constantFrom(false, false, false, true),
})

type Night = { organization: string; hoursLater: number; finds: Found[]; proof: Proof; isPartial: boolean }

type Found = 'same' | 'renamed' | 'nameless' | 'moved' | 'absent' | 'rejected'

/** Nights of two organizations. */
export const someNights = fc.array(aNight, { minLength: 1, maxLength: 14 })

/** What readers found after a night: the values of every active customer, by id. */
export type Snapshot = {
  organization: string
  time: string
  proof: Proof
  active: Map<string, Record<string, unknown>>
  /** Ids of customers that are missing or removed. */
  absent: Set<string>
}

/** Plays the nights, and reads the mirror after each of them. */
export async function playNights(mirror: Mirror, nights: readonly Night[]): Promise<Snapshot[]> {
  const snapshots: Snapshot[] = []
  let atMs = START_MS
  let turn = 0
  const sent = new Map<string, Record<string, unknown>>()
  for (const { organization, hoursLater, finds, ...night } of nights) {
    const isPartial = night.isPartial && snapshots.some((snapshot) => snapshot.organization === organization)
    const proof = isPartial ? 'unproven' : night.proof
    const list: unknown[] = []
    for (const n of [...KNOWN, KNOWN.length + 1]) {
      const found = finds[n - 1] ?? 'same'
      const key = `${organization} ${n}`
      const record = { ...(sent.get(key) ?? aCustomer(n)), ...OTHERWISE[found]((turn += 1)) }
      if (found === 'rejected') list.push({ id: customerId(n), name: {} })
      if (found === 'absent' || found === 'rejected') continue
      if (isPartial && found === 'same') continue
      sent.set(key, record)
      list.push(record)
    }
    const gone = KNOWN.filter((n) => finds[n - 1] === 'absent')
    const ending = isPartial
      ? quickEnding(rowIdsOf(mirror, gone, organization))
      : scanEnding({ proof, rule: { after: 2, maxShare: 0 }, confirmed: KNOWN.map(customerId) })
    await mirrorPages(mirror, list.length > 0 ? [list] : [], { organization, atMs, isPartial, ending })
    snapshots.push({ organization, time: timeOf(atMs), proof, ...readers(mirror, organization) })
    atMs += hoursLater * HOUR_MS
  }
  return snapshots
}

const OTHERWISE: Record<Found, (turn: number) => Record<string, unknown>> = {
  same: () => ({}),
  absent: () => ({}),
  rejected: () => ({}),
  renamed: (turn) => ({ name: `Name ${turn} "é"` }),
  nameless: () => ({ name: null }),
  moved: (turn) => ({ address: `${turn} Other Street`, extra_field: turn % 3 }),
}

function timeOf(unixMs: number): string {
  return new Date(unixMs).toISOString().replace('T', ' ').replace('Z', '')
}

/** The columns that have a history. */
export const VALUES = 'name, username, email, phone, address, company_name, language, timezone, created_at, extra'

function readers(mirror: Mirror, organization: string): Pick<Snapshot, 'active' | 'absent'> {
  const active = rowsOf(mirror.file, `SELECT id, ${VALUES} FROM active_customers WHERE organization = ?`, organization)
  const absent = rowsOf(
    mirror.file,
    'SELECT id FROM customers WHERE organization = ? AND missing_since > 0',
    organization,
  )
  return {
    active: new Map(active.map(({ id, ...values }) => [String(id), values])),
    absent: new Set(absent.map(({ id }) => String(id))),
  }
}
