import { expect, test } from 'vitest'
import { fingerprintWith } from '../src/model/fingerprint.ts'
import { EMPTY_LIST } from '../src/model/list-as-read.ts'
import type { Mirror } from '../src/model/mirror.ts'
import { KnownList } from '../src/sync/list-as-read.ts'
import { sortPage } from '../src/sync/sorting/sort-page.ts'
import { makeNight } from './support/alike-nights.ts'
import { aCustomer, aSourcePage, customerId, customers, type SentRecord } from './support/builders.ts'
import { printOf } from './support/json-bytes.ts'
import { aMirror, tamper, valueOf } from './support/mirror-file.ts'

const told = { scan: 'chain', concurrency: 1, removals: { after: 2, maxShare: 0.9 } } as const
const list = customers(1, 30)
const neighbour = aCustomer(8)

test.each([
  [
    'its neighbour',
    (forged: SentRecord) => customers(1, 10).map((sent) => (sent['id'] === neighbour['id'] ? forged : sent)),
  ],
  [
    'every other customer of its page',
    (forged: SentRecord) => customers(1, 10).map((sent) => (sent['id'] === forged['id'] ? sent : forged)),
  ],
])(
  'a record with the fingerprint of %s, made by a writer who knows the key, is not taken for another',
  async (_, as) => {
    const mirror = await aMirror()
    for (const night of [-1, 0]) await makeNight(mirror, night, { list, told })
    const forged = aCustomer(7, { name: 'Forged' })
    remember(mirror, as(forged))

    for (const night of [1, 2, 3]) {
      const { report } = await makeNight(mirror, night, { list: list.with(6, forged), told })
      expect(report).toMatchObject({ proof: 'proven', missing: 0, removed: 0, updated: night === 1 ? 1 : 0 })
    }

    expect(valueOf(mirror.file, `SELECT name FROM customers WHERE id = ?`, customerId(7))).toBe('Forged')
  },
)

test('where all records have one fingerprint, only those of their own customers are known', () => {
  const sent = [aCustomer(1), aCustomer(3), aCustomer(2), { ...aCustomer(4), id: 4 }, null]
  const fingerprint = {
    record: () => 7,
    id: (bytes: DataView, from: number) => Number.parseInt(String.fromCharCode(bytes.getUint8(from + 7)), 16),
  }
  const columns = {
    rowIds: Uint32Array.of(1, 2, 3, 4),
    fingerprints: Float64Array.of(7, 7, 7, 7),
    idFingerprints: Uint32Array.of(1, 2, 3, 4),
    comparisons: new Uint8Array(4),
    oddities: new Uint8Array(4),
  }
  const known = new KnownList({ ...EMPTY_LIST, columns }, { doubted: new Set(), written: new Set() })

  const { sorted } = sortPage(aSourcePage(1, sent), undefined, { known, fingerprint })

  expect(sorted).toMatchObject({ customers: [{ id: customerId(3) }, { id: customerId(2) }] })
  expect(Array.from(sorted.rowIds)).toEqual([1, 0, 0, 0, 0])
  expect(sorted.rejects).toHaveLength(2)
})

/** Puts the fingerprints of other records in the place of those of the first customers. */
function remember({ file }: Mirror, records: readonly SentRecord[]): void {
  const key = valueOf(file, 'SELECT key FROM fingerprint_key')
  expect(key).toBeInstanceOf(Uint8Array)
  const fingerprint = fingerprintWith(key instanceof Uint8Array ? key : new Uint8Array())
  const forged = Float64Array.from(records, (record) => printOf(fingerprint, record))
  const stored = valueOf(file, 'SELECT marks FROM lists')
  if (!Buffer.isBuffer(stored)) throw new Error('There are no fingerprints.')
  const rest = stored.subarray(forged.byteLength)
  tamper(file, 'UPDATE lists SET marks = ?', Buffer.concat([Buffer.from(forged.buffer), rest]))
}
