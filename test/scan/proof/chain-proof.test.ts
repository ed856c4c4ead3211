import { beforeEach, describe, expect, test } from 'vitest'
import { Coverage } from '../../../src/scan/coverage.ts'
import { Findings } from '../../../src/scan/findings.ts'
import { ChainProof } from '../../../src/scan/proof/chain-proof.ts'
import { seenIds } from '../../../src/scan/seen.ts'
import { overlapBetween, seamBetween } from '../../../src/scan/window/overlap.ts'
import { prepareWindow, type ReadWindow } from '../../../src/scan/window/read-window.ts'
import type { Row, Window } from '../../../src/scan/window/window.ts'

let findings: Findings
let coverage: Coverage
let chain: ChainProof
/** The row that stands at a position. */
let rowAt: (position: number) => Row

describe('rows in the order of their ids', () => {
  beforeEach(() => startOver(new Findings(10), (position) => ({ id: digits(position), createdAt: undefined })))

  test('neighbours that share a row prove the chain, although the total changes', () => {
    link(read({ page: 1, size: 10 }, 30), read({ page: 2, size: 9 }, 31))

    expect(chain.proof()).toEqual({ basis: 'witness', witness: 'id asc' })
  })

  test('neighbours that share no row prove nothing, although no window contradicts the order', () => {
    link(read({ page: 1, size: 10 }), read({ page: 2, size: 10 }))

    expect(findings.believed.map(({ name }) => name)).toEqual(['id asc'])
    expect(chain.proof()).toBeUndefined()
  })

  test('a chain that left positions unread proves and settles nothing, although all its windows share rows', () => {
    linkAroundUnreadPositions()

    expect(findings.believed.map(({ name }) => name)).toEqual(['id asc'])
    expect(chain).toMatchObject({ still: false, settles: false })
    expect(chain.proof()).toBeUndefined()
  })
})

describe('rows in the order of their creation times', () => {
  test.each([
    ['of two times prove', { secondOfRow9: 9, witness: 'created_at asc' }],
    ['that are all of one time do not prove', { secondOfRow9: 8, witness: undefined }],
  ])('neighbours that share rows %s a chain of which the total changes', (_, { secondOfRow9, witness }) => {
    const secondAt = (position: number) => (position === 9 ? secondOfRow9 : position)
    startOver(new Findings(10), (position) => ({ id: shuffled(position), createdAt: second(secondAt(position)) }))
    const [first, middle, last] = [
      read({ page: 1, size: 10 }),
      read({ page: 2, size: 8 }),
      read({ page: 3, size: 7 }, 31),
    ]
    link(first, middle)
    link(middle, last)

    expect(findings.believed.map(({ name }) => name)).toContain('created_at asc')
    expect(chain.proof()?.witness).toBe(witness)
  })
})

test.each([
  ['share no row', { page: 2, size: 10 }, (place: number) => place, 'link-broken'],
  [
    'share rows in another order',
    { page: 2, size: 8 },
    (place: number) => (place === 8 ? 9 : place === 9 ? 8 : place),
    'order-unstable',
  ],
  ['share rows elsewhere', { page: 2, size: 8 }, (place: number) => place - 1, 'not-quiet'],
] as const)('a list of names whose neighbours %s is not proven, and says why', (_, window, later, reason) => {
  startOver(new Findings(10), (position) => ({ id: shuffled(position), createdAt: undefined }))
  const left = read({ page: 1, size: 10 })
  rowAt = (position) => ({ id: shuffled(later(position)), createdAt: undefined })
  link(left, read(window))

  expect(chain.proof()).toBeUndefined()
  expect(chain.obstacles).toEqual([reason])
})

describe('many rows of one creation time', () => {
  const isInTie = (position: number) => position >= 4 && position < 60

  beforeEach(() =>
    startOver(new Findings(20), (position) => ({
      id: shuffled(position),
      createdAt: second(isInTie(position) ? 4 : position),
    })),
  )

  test.each([
    [
      'two do not settle it, as they may change places',
      { windows: ['1/20', '2/18', '3/17', '4/16', '5/15'], settles: false },
    ],
    [
      'many that keep their order settle it',
      { windows: ['1/20', '2/15', '2/20', '3/15', '3/18', '4/15'], settles: true },
    ],
  ])('where the neighbours of a chain share some of them alone, %s', (_, { windows, settles }) => {
    linkAll(windows)

    expect(chain.ties.all.length).toBeGreaterThan(0)
    expect(chain.seams.areFirm).toBe(true)
    expect(chain.settles).toBe(settles)
  })

  test('they prove nothing before they are counted', () => {
    linkAll(['1/20', '2/18', '3/17', '4/16', '5/15'])
    chain.ties.leave()

    expect(chain.proof()).toBeUndefined()
    const [region, ...others] = chain.toCount()
    expect(region).toMatchObject({ from: 4, isCounted: false })
    expect(others).toEqual([])
    if (region !== undefined) region.isCounted = true
    expect(chain.proof()).toEqual({ basis: 'counted', witness: 'created_at asc' })
  })
})

describe('rows in the order of the list as last read', () => {
  beforeEach(() => {
    const rowIds = Array.from({ length: 18 }, (_, position) => position + 1)
    const list = { rowIds, placeOf: (rowId: number) => rowIds.indexOf(rowId), isChanged: () => true }
    startOver(new Findings(10, { still: 1, fields: { ruledOut: ['name'], left: [] } }, list), (position) => ({
      id: shuffled(position),
      createdAt: undefined,
      rowId: position + 1,
    }))
  })

  test('neighbours that share a row prove the chain, although the total changes', () => {
    link(read({ page: 1, size: 10 }), read({ page: 2, size: 9 }, 31))

    expect(chain.proof()).toMatchObject({ basis: 'remembered order' })
  })

  test.each([
    ['no row', { page: 3, size: 10 }, false],
    ['a row', { page: 3, size: 9 }, true],
  ])('neighbours behind the last known row that share %s', (_, last, isProven) => {
    const middle = read({ page: 2, size: 10 }, 31)
    link(read({ page: 1, size: 11 }), middle)
    link(middle, read(last, 31))

    expect(chain.proof()?.basis).toBe(isProven ? 'remembered order' : undefined)
  })

  test('a chain that left positions unread proves nothing', () => {
    linkAroundUnreadPositions()

    expect(chain.proof()).toBeUndefined()
  })
})

function startOver(known: Findings, rows: (position: number) => Row): void {
  findings = known
  coverage = new Coverage(seenIds())
  coverage.startPass()
  chain = new ChainProof(findings)
  rowAt = rows
}

/** Two windows that overlap, and behind rows that were not read two more. */
function linkAroundUnreadPositions(): void {
  link(read({ page: 1, size: 10 }), read({ page: 2, size: 8 }))
  expect(chain.proof()).toEqual({ basis: 'quiet' })
  chain.cut()
  chain.begin()
  link(read({ page: 3, size: 9 }), read({ page: 4, size: 8 }))
}

/** Links windows, given as page/size, of a list that has become longer by one after the first. */
function linkAll(windows: readonly string[]): void {
  const chained = windows.map((window, at) => {
    const [page = 0, size = 0] = window.split('/').map(Number)
    return read({ page, size }, at === 0 ? 74 : 75)
  })
  for (const [at, right] of chained.slice(1).entries()) link(chained[at] ?? right, right)
}

function read(window: Window, total = 30): ReadWindow {
  const start = window.size * (window.page - 1)
  const rows = Array.from({ length: Math.min(window.size, total - start) }, (_, place) => rowAt(start + place))
  const prepared = prepareWindow({ window, rows, total, perPage: window.size, beyondEnd: false }, coverage)
  findings.learn(prepared)
  coverage.add(prepared)
  return prepared
}

function link(left: ReadWindow, right: ReadWindow): void {
  if (chain.windows === 0) chain.begin()
  chain.link(overlapBetween(left, right), { left, read: right, seam: seamBetween(left, right) })
}

function digits(number: number): string {
  return String(number).padStart(5, '0')
}

function shuffled(position: number): string {
  return digits((position * 7919) % 10_007)
}

function second(number: number): string {
  return new Date(1_700_000_000_000 + 1000 * number).toISOString()
}
