import { expect, test } from 'vitest'
import { fingerprintWith } from '../src/model/fingerprint.ts'
import { EMPTY_LIST } from '../src/model/list-as-read.ts'
import type { Mirror } from '../src/model/mirror.ts'
import { KnownList } from '../src/sync/list-as-read.ts'
import { sortPage } from '../src/sync/sorting/sort-page.ts'
import { expectAlike, makeNight, type Night } from './support/alike-nights.ts'
import { aCustomer, aSourcePage, customerId, customers, type SentRecord } from './support/builders.ts'
import { printOf } from './support/json-bytes.ts'
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

function aNight(listed: readonly unknown[]): Night {
  return { list: listed, told }
}

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

/**
 * The name with which `record` would have the fingerprint of `target` if fingerprints had no key, found in 0.3 s of search. The
 * steps of such a fingerprint are below. Each step can be inverted, and both halves of the state take the same two characters
 * in a step, so that three steps of a name lead from the state before it to the state that the following fields need.
 */
function forgedName(record: SentRecord, target: SentRecord): string {
  const fields = Object.keys(record)
  const length = 12
  const begin = fields
    .slice(0, fields.indexOf('name'))
    .reduce<State>((state, field) => after(state, field, String(record[field])), BEGINNING)
  const end = fields
    .slice(fields.indexOf('name') + 1)
    .reduceRight<State>((state, field) => before(state, field, String(record[field])), stateOf(target))
  // Six readable characters, and six computed ones: two free ones, two free ones from the end, two in the middle.
  const start = unitsOf('Harmle').reduce(step, headed(begin, 'name', length))
  const middle = new Map<number, { units: number; state: State }>()
  for (let units = 0; units < TRIES; units += 1) {
    const state = step(start, readable(units))
    middle.set(state[0] ^ state[1], { units: readable(units), state })
  }
  for (let units = 0; units < TRIES; units += 1) {
    const [first, second] = undone(unstep(end, readable(units)))
    const met = middle.get(first ^ second)
    const between = met === undefined ? 0 : met.state[0] ^ first
    const name = met === undefined ? '' : `Harmle${textOf([met.units, between, readable(units)])}`
    if (name !== '' && name.isWellFormed()) return name
  }
  throw new Error('No such name was found among those tried.')
}

const TRIES = 2 ** 18

/** Two letters of some language, from a number. */
function readable(index: number): number {
  return (0x4e00 + (index & 0x3ff)) | ((0x4e00 + (index >>> 10)) << 16)
}

type State = [number, number]
const BEGINNING: State = [0x2545_f491, 0x4f6c_dd1d]
const [FIRST, SECOND] = [0x9e37_79b1, 0x85eb_ca77]
const TEXT = 0x1234_5678

function stateOf(record: SentRecord): State {
  return Object.entries(record).reduce<State>((state, [field, value]) => after(state, field, String(value)), BEGINNING)
}

function after(state: State, field: string, text: string): State {
  return unitsOf(text).reduce(step, headed(state, field, text.length))
}

function before(state: State, field: string, text: string): State {
  const [first, second] = unitsOf(text).reduceRight((later, units) => unstep(later, units), state)
  const name = hashOf(field)
  return [
    Math.imul(Math.imul(first, INVERSE_FIRST) ^ text.length, INVERSE_FIRST) ^ name[0] ^ TEXT,
    Math.imul(Math.imul(second, INVERSE_SECOND) ^ text.length, INVERSE_SECOND) ^ name[1],
  ]
}

function headed([first, second]: State, field: string, length: number): State {
  const name = hashOf(field)
  return [
    Math.imul(Math.imul(first ^ name[0] ^ TEXT, FIRST) ^ length, FIRST),
    Math.imul(Math.imul(second ^ name[1], SECOND) ^ length, SECOND),
  ]
}

function hashOf(field: string): State {
  return Array.from(field, (_, index) => field.charCodeAt(index)).reduce<State>(step, [field.length, field.length])
}

function step([first, second]: State, units: number): State {
  return [stirred(first ^ units, FIRST, 15), stirred(second ^ units, SECOND, 13)]
}

function unstep(state: State, units: number): State {
  const [first, second] = undone(state)
  return [first ^ units, second ^ units]
}

/** The state before the last step, still mixed with the two characters of that step. */
function undone([first, second]: State): State {
  return [unstirred(first, INVERSE_FIRST, 15), unstirred(second, INVERSE_SECOND, 13)]
}

function stirred(bits: number, factor: number, shift: number): number {
  const product = Math.imul(bits, factor)
  return product ^ (product >>> shift)
}

function unstirred(bits: number, inverse: number, shift: number): number {
  let product = bits
  for (let known = shift; known < 32; known += shift) product = bits ^ (product >>> shift)
  return Math.imul(product, inverse)
}

const [INVERSE_FIRST, INVERSE_SECOND] = [inverseOf(FIRST), inverseOf(SECOND)]

/** The multiplicative inverse of an odd number, modulo 2^32. */
function inverseOf(odd: number): number {
  let inverse = odd
  for (let bits = 3; bits < 32; bits *= 2) inverse = Math.imul(inverse, 2 - Math.imul(odd, inverse))
  return inverse
}

function unitsOf(text: string): number[] {
  const units: number[] = []
  for (let index = 0; index < text.length; index += 2) {
    units.push(text.charCodeAt(index) | (index + 1 < text.length ? text.charCodeAt(index + 1) << 16 : 0))
  }
  return units
}

function textOf(units: readonly number[]): string {
  return String.fromCharCode(...units.flatMap((two) => [two & 0xffff, two >>> 16]))
}
