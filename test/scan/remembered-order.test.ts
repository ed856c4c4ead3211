import { describe, expect, test } from 'vitest'
import type { OrderFacts } from '../../src/list/order-facts.ts'
import { chainScan } from '../../src/scan/chain-scan.ts'
import { RememberedOrder } from '../../src/scan/proof/remembered-order.ts'
import { dice } from '../support/dice.ts'
import { drive } from '../support/drive-scan.ts'
import { expectNoFalseProof, expectRareFalseProof, isRemembered } from '../support/over-nights.ts'

/** A few of the lists of the deep test. */
const LISTS = 12

describe('over the nights of a few lists', () => {
  test.each(['hidden', 'name', 'last change asc', 'last change desc'] as const)(
    'by %s, the order as last read proves no scan while a customer who was listed throughout is missing',
    (order) => {
      const reads = expectNoFalseProof(order, LISTS)
      if (order === 'hidden') expect(reads.filter(isRemembered).length).toBeGreaterThan(LISTS / 2)
      for (const { night, certificate } of reads) if (night < 3) expect(certificate.basis).not.toBe('remembered order')
    },
  )

  test.each(['balance', 'balance from the third night'] as const)(
    'by a hidden %s, a false proof is rare, and misses only who moved',
    (order) => expectRareFalseProof(order, LISTS),
  )
})

const FACTS: OrderFacts = { still: 1, fields: { ruledOut: ['name', 'email'], left: [] } }
const LIST = Array.from({ length: 450 }, (_, at) => at + 1)
/** New customers have row numbers from here on. */
const NEW = 1001

type Telling = {
  facts?: OrderFacts
  /** The list of the last run. */
  before?: readonly number[]
  /** The list tonight, and as it is after the third answer. */
  tonight?: readonly number[]
  later?: readonly number[]
  changed?: readonly number[]
  /** No page is answered once the end was reached. */
  failsAtEnds?: boolean
}

/** A scan of a list that changes after the third answer. */
function scanned(told: Telling = {}) {
  const { facts = FACTS, before = LIST, tonight = LIST, changed = LIST.slice(0, 8) } = told
  const later = told.later ?? tonight.filter((rowId) => rowId !== 7)
  const scan = chainScan({
    order: facts,
    list: {
      rowIds: before,
      placeOf: (rowId) => before.indexOf(rowId),
      isChanged: (rowId) => changed.includes(rowId),
    },
  })
  let answers = 0
  let hasReachedEnd = false
  drive(
    scan,
    {
      answer({ page, size }) {
        const now = answers < 3 ? tonight : later
        if (hasReachedEnd && told.failsAtEnds === true) return 'page-mismatch'
        hasReachedEnd ||= size * page > now.length
        answers += 1
        const rows = now.slice(size * (page - 1), size * page).map(rowOf)
        return { window: { page, size }, rows, total: now.length, perPage: size, beyondEnd: false }
      },
    },
    { dice: dice(1) },
  )
  return { ...scan.certificate(), order: scan.order }
}

/** Neither ids nor creation times are in order. */
function rowOf(rowId: number) {
  const mixed = Math.imul(rowId, 0x9e3779b1) >>> 0
  return { id: mixed.toString(16).padStart(8, '0'), createdAt: new Date(mixed * 300).toISOString(), rowId }
}

test('the order as last read proves nothing where the ends of the list cannot be read again', () => {
  expect(scanned({ failsAtEnds: true }).proof).not.toBe('proven')
})

test('customers who all stand as they did, though some changed, prove a list that moves, and the certificate names the evidence', () => {
  const { order, ...certificate } = scanned()

  expect(certificate).toMatchObject({
    proof: 'proven',
    basis: 'remembered order',
    witness: 'remembered order',
    reasons: [],
    passes: 1,
    evidence: { changedWithoutMoving: 8, fieldsRuledOut: ['name', 'email'], runs: 2 },
  })
  expect(order).toMatchObject({ still: 2, fields: FACTS.fields })
})

test('new customers are bounded by those known: at both ends, and between them', () => {
  const tonight = [NEW, ...LIST.slice(0, 200), NEW + 1, NEW + 2, ...LIST.slice(200), ...some(150, NEW + 3)]

  expect(scanned({ tonight })).toMatchObject({ proof: 'proven', basis: 'remembered order' })
})

test.each<[string, Telling]>([
  ['one customer moved', { tonight: moved(LIST, 300, 20) }],
  ['one customer moved to the end while the list was read', { later: moved(LIST, 7, 449) }],
  ['one customer moved to the front while the list was read', { later: moved(LIST, 400, 0) }],
  ['fewer than eight changed', { changed: LIST.slice(0, 7) }],
  ['new customers alone changed', { tonight: [...LIST, ...some(20)], changed: some(20) }],
  ['the run before compared with none', { facts: { fields: { ruledOut: ['name'], left: [] } } }],
  ['a customer moved in the run before', { facts: { ...FACTS, still: 0 } }],
  ['the rows may be sorted by name', { facts: { still: 5, fields: { ruledOut: ['email'], left: ['name'] } } }],
  ['it is unknown what the rows are sorted by', { facts: { still: 5 } }],
  ['the last change comes first', { facts: { ...FACTS, direction: 'last-change' } }],
  ['nothing is remembered of the list', { before: [] }],
  ['most customers are new', { before: LIST.slice(0, 200) }],
  [
    'those who changed may stand behind a page of new ones',
    { tonight: [...LIST.slice(0, 220), ...some(250), ...LIST.slice(220)] },
  ],
])('the order as last read is not believed when %s', (_, told) => {
  expect(scanned(told).basis).not.toBe('remembered order')
})

test.each<[string, readonly number[], OrderFacts, boolean]>([
  ['known customers', [450], FACTS, true],
  ['new customers alone', [NEW], FACTS, false],
  ['known customers, and the last change comes first,', [450], { ...FACTS, direction: 'last-change' }, false],
])(
  'where the windows of an end that was read again share %s, the order is believed accordingly',
  (_, shared, facts, isBelieved) => {
    const order = new RememberedOrder({ rowIds: LIST, placeOf: (id) => LIST.indexOf(id), isChanged: () => true }, facts)
    order.observe({ turn: 0, start: 0, keys: LIST })
    order.linkAtEnd({ left: 1, right: 2, rowIds: shared })

    expect(order.evidence([]) !== undefined).toBe(isBelieved)
  },
)

test('the customers of a list that did not move are counted still, and one who moved begins anew', () => {
  expect(scanned({ later: LIST }).order.still).toBe(2)
  expect(scanned({ later: LIST, tonight: moved(LIST, 300, 20) }).order.still).toBe(0)
})

test('one who moved by no field that was left has the fields looked at again, and by one that was left not', () => {
  const fields = { ruledOut: ['email'], left: ['name'] }
  const changes = { later: LIST, tonight: moved(LIST, 300, 20) }

  expect(scanned(changes).order.fields).toBeUndefined()
  expect(scanned({ ...changes, facts: { still: 1, fields } }).order.fields).toEqual(fields)
})

test('a list in another order than before is asked again what it is sorted by', () => {
  const { order } = scanned({ tonight: LIST.toReversed(), later: LIST.toReversed() })

  expect(order).toMatchObject({ still: 0 })
  expect(order.fields).toBeUndefined()
})

function some(count: number, from = NEW): number[] {
  return Array.from({ length: count }, (_, at) => from + at)
}

function moved(list: readonly number[], from: number, to: number): number[] {
  const rest = list.toSpliced(from, 1)
  return rest.toSpliced(to, 0, ...list.slice(from, from + 1))
}
