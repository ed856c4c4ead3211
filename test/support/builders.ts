import type { Fingerprint } from '../../src/model/fingerprint.ts'
import type { SortedPage } from '../../src/model/page.ts'
import type { Ending } from '../../src/model/run.ts'
import type { CustomersPage } from '../../src/source/customers.ts'
import { cutRecords } from '../../src/source/cut-page.ts'
import { sortRecords } from '../../src/sync/sorting/sort-records.ts'

export type SentRecord = Record<string, unknown>

export const START_MS = Date.UTC(2026, 0, 5, 2)
export const MINUTE_MS = 60_000
export const HOUR_MS = 60 * MINUTE_MS
export const DAY_MS = 24 * HOUR_MS

/** The UUID of customer `n`: the same one every time. */
export function customerId(n: number): string {
  return `${n.toString(16).padStart(8, '0')}-0000-4000-8000-${n.toString(16).padStart(12, '0')}`
}

/** Customer `n` as the service would send it; an override that is undefined leaves its field out. */
export function aCustomer(n: number, overrides: SentRecord = {}): SentRecord {
  const sent: SentRecord = {
    id: customerId(n),
    name: `Customer ${n}`,
    username: `customer-${n}`,
    email: `customer-${n}@example.com`,
    phone: `+1 555 0100 ${n}`,
    address: `${n} Example Street, Exampleton`,
    company_name: `Example Company ${n}`,
    language: 'en',
    timezone: 'Europe/Paris',
    created_at: '2024-01-02T03:04:05.000000Z',
    ...overrides,
  }
  for (const name in overrides) if (overrides[name] === undefined) delete sent[name]
  return sent
}

export function customers(from: number, to: number, overrides: SentRecord = {}): SentRecord[] {
  return Array.from({ length: to - from + 1 }, (_, index) => aCustomer(from + index, overrides))
}

export function aSourcePage(number: number, records: unknown[], overrides: Partial<CustomersPage> = {}): CustomersPage {
  const texts = records.map((record) => JSON.stringify(record)).join(',')
  const bytes = `[${texts}]`.length
  const size = overrides.size ?? 100
  const cut: CustomersPage['cut'] = () => cutRecords(Buffer.from(texts), size)
  const page = { page: number, size, records: () => records, bytes, beyondEnd: false, total: undefined }
  return { ...page, ...(records.length > 0 && { cut }), ...overrides }
}

export function aPage(page: number, records: readonly unknown[]): SortedPage {
  return { ...sortRecords(records, { pageBytes: JSON.stringify(records).length }), page }
}

/** The end of a run that read the whole list. */
export function anEnding(overrides: Partial<Ending> = {}): Ending {
  const source = { requests: 1, throttled: 0, waitedMs: 0 }
  return { status: 'complete', proof: 'unproven', reasons: ['plain-scan'], source, readToEnd: true, ...overrides }
}

export function printOf(fingerprint: Fingerprint, sent: unknown): number {
  const bytes = viewOf(JSON.stringify(sent))
  return fingerprint.record(bytes, 0, bytes.byteLength)
}

export function viewOf(text: string): DataView {
  const bytes = Buffer.from(text)
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
