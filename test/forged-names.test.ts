import type { Mirror } from '../src/store.ts'
import { expect, test } from 'vitest'
import { fingerprintWith } from '../src/fingerprint.ts'
import { ListMemory } from '../src/list-memory/list-memory.ts'
import { sortRecords } from '../src/run/sort-records.ts'
import { expectAlike, makeNight, type Night } from './support/alike-nights.ts'
import { aCustomer, customerId, customers, type SentRecord } from './support/builders.ts'
import { forgedName } from './support/forged-name.ts'
import { aMirror, rowsOf, tamper, valueOf } from './support/mirror-file.ts'

const told = { scan: 'chain', concurrency: 1, removals: { after: 2, maxShare: 0.9 } } as const
const list = customers(1, 30)
const neighbour = aCustomer(8)

test('a customer who chooses a name that forged the fingerprint of a neighbour stays, and the name is stored', async () => {
  const name = forgedName(aCustomer(7), neighbour)
  const forged = list.with(6, aCustomer(7, { name }))
  const nights = [list, forged, forged, forged].map(aNight)

  const { mirror, reports } = await expectAlike(nights)

  expect(reports.map(({ proof, updated }) => [proof, updated])).toEqual([
    ['proven', 0],
    ['proven', 1],
    ['proven', 0],
    ['proven', 0],
  ])
  expect(valueOf(mirror.file, 'SELECT name FROM customers WHERE id = ?', customerId(7))).toBe(name)
  expect(valueOf(mirror.file, 'SELECT count(*) FROM active_customers WHERE missing_since IS NULL')).toBe(30)
})

test('a customer who chooses the name that hid the change of his e-mail is stored with both', async () => {
  const moved = aCustomer(7, { email: 'elsewhere@example.com' })
  const changed = { ...moved, name: forgedName(moved, aCustomer(7)) }

  const { mirror } = await expectAlike([list, list.with(6, changed)].map(aNight))

  expect(rowsOf(mirror.file, 'SELECT name, email FROM customers WHERE id = ?', customerId(7))).toEqual([
    { name: changed.name, email: 'elsewhere@example.com' },
  ])
})

test('two customers of one page whose records had one fingerprint leave every scan proven', async () => {
  const twins = list.with(6, aCustomer(7, { name: forgedName(aCustomer(7), neighbour) }))
  const renamed = (name: string) => twins.with(2, aCustomer(3, { name }))
  const nights = [twins, renamed('One'), renamed('Two'), renamed('Three')].map(aNight)

  const { reports } = await expectAlike(nights)

  expect(reports.map(({ proof, missing, removed }) => [proof, missing, removed])).toEqual(
    nights.map(() => ['proven', 0, 0]),
  )
})

test.each([
  [
    'its neighbour',
    (forged: SentRecord) => customers(1, 10).map((sent) => (sent['id'] === neighbour['id'] ? forged : sent)),
  ],
  ['every customer of its page', (forged: SentRecord) => customers(1, 10).map(() => forged)],
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
  const sent = [...customers(1, 3), { ...aCustomer(4), id: 4 }, null]
  const fingerprint = (value: unknown) => (typeof value === 'string' ? Number.parseInt(value, 16) : 7)
  const columns = {
    rowIds: Uint32Array.of(1, 2, 3, 4),
    fingerprints: Float64Array.of(7, 7, 7, 7),
    idFingerprints: Float64Array.of(1, 2, 3, 4),
    oddities: new Uint8Array(4),
  }
  const memory = new ListMemory({ columns, windows: [], warnings: [{}] }, { doubted: new Set(), written: new Set() })

  const sorted = sortRecords(sent, { pageBytes: 0, fingerprint, memory })

  expect(sorted).toMatchObject({ known: [1], customers: [{ id: customerId(2) }, { id: customerId(3) }] })
  expect(sorted.rejects).toHaveLength(2)
})

function aNight(listed: readonly unknown[]): Night {
  return { list: listed, told }
}

/** Puts the fingerprints of other records in the place of those of the first customers. */
function remember({ file }: Mirror, records: readonly SentRecord[]): void {
  const key = valueOf(file, 'SELECT key FROM fingerprint_key')
  expect(key).toBeInstanceOf(Uint8Array)
  const forged = Float64Array.from(records, fingerprintWith(key instanceof Uint8Array ? key : new Uint8Array()))
  const stored = valueOf(file, 'SELECT fingerprints FROM list_chunks')
  const rest = stored instanceof Uint8Array ? stored.subarray(forged.byteLength) : stored
  tamper(file, 'UPDATE list_chunks SET fingerprints = ? || ?', Buffer.from(forged.buffer), rest)
}
