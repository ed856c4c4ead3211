import { beforeEach, expect, test } from 'vitest'
import { Coverage } from '../../../src/scan/coverage.ts'
import { Findings } from '../../../src/scan/findings.ts'
import type { Pass } from '../../../src/scan/pass.ts'
import { settlingAfter, verdictOn } from '../../../src/scan/passes/verdict.ts'
import { MetAgain } from '../../../src/scan/proof/met-again.ts'
import type { Reason } from '../../../src/scan/reasons.ts'
import { USUAL_CAPS } from '../../../src/scan/scan.ts'
import { seenIds } from '../../../src/scan/seen.ts'
import { prepareWindow } from '../../../src/scan/window/read-window.ts'

let findings: Findings
let coverage: Coverage

beforeEach(() => {
  findings = new Findings(100)
  coverage = new Coverage(seenIds())
  coverage.startPass()
})

test.each([
  ['a quarter of a page, settles', { rows: 75, areNearlyStill: true, settling: 'settled' }],
  ['more than a quarter of a page, does not settle', { rows: 74, areNearlyStill: true, settling: 'open' }],
  ['more, of a list that changed much, settles', { rows: 74, areNearlyStill: false, settling: 'settled' }],
])('a pass with firm seams that lacks %s', (_, { rows, areNearlyStill, settling }) => {
  read({ rows, total: 100 })

  expect(settlingAfter(aSettlingPass({ areNearlyStill }), 'open', { coverage, findings })).toBe(settling)
})

test('no pass settles once a page has listed a customer twice', () => {
  read({ rows: 100, total: 100 })
  findings.note('duplicate-id')
  const settling = settlingAfter(aSettlingPass(), 'open', { coverage, findings })

  expect(settling).toBe('contradicted')
  expect(settlingAfter(aSettlingPass(), settling, { coverage, findings })).toBe('contradicted')
})

test.each([
  ['a witness', { basis: 'witness', rows: 99 }],
  ['the order as last read', { basis: 'remembered order', rows: 99 }],
  ['stillness', { basis: 'quiet', rows: 99 }],
  ['stillness, with more rows than the total,', { basis: 'quiet', rows: 101 }],
  ['a count', { basis: 'counted', rows: 97 }],
] as const)(
  'a pass by %s of a list at rest proves and settles nothing if the total promises other rows',
  (_, known) => {
    read({ rows: known.rows, total: 100 })
    const pass = { ...aSettlingPass(), proof: () => ({ basis: known.basis }) }

    expect(settlingAfter(pass, 'open', { coverage, findings })).toBe('contradicted')
    expect(
      verdictOn(pass, { passes: 1, settling: 'contradicted', coverage, findings, caps: USUAL_CAPS }),
    ).toBeUndefined()
  },
)

test('a later pass in which nothing moved is proven if no fewer rows were read than its total, as others may have left before it', () => {
  read({ rows: 101, total: 101 })
  coverage.startPass()
  read({ rows: 100, total: 100 })
  const pass = { ...aSettlingPass(), proof: () => ({ basis: 'quiet' }) as const }

  expect(verdictOn(pass, { passes: 2, settling: 'open', coverage, findings, caps: USUAL_CAPS })?.proof).toBe('proven')
})

test('rows without an id cannot be counted, so a later pass in which nothing moved is not doubted for their number', () => {
  read({ rows: 98, total: 100 })
  coverage.rejected = 1
  coverage.startPass()
  read({ rows: 98, total: 100 })
  const pass = { ...aSettlingPass(), proof: () => ({ basis: 'quiet' }) as const }

  expect(verdictOn(pass, { passes: 2, settling: 'open', coverage, findings, caps: USUAL_CAPS })).toMatchObject({
    proof: 'unproven',
    reasons: ['rejected-without-id'],
  })
})

test.each([
  ['to the end, found no new row, and as many as the total in all, the scan is converged', true],
  ['not to the end, the list is read again', false],
])('after a second pass that came %s', (_, complete) => {
  read({ rows: 100, total: 100 })
  coverage.startPass()
  read({ rows: 100, total: 100 })
  const pass = { ...aSettlingPass(), complete }

  expect(verdictOn(pass, { passes: 2, settling: 'open', coverage, findings, caps: USUAL_CAPS })?.proof).toBe(
    complete ? 'converged' : undefined,
  )
})

test('the end that was known shows no cap only in an order by creation: elsewhere another may follow it', () => {
  findings = new Findings(100, { end: 1000 })
  const rows = Array.from({ length: 100 }, (_, place) => 901 + place)
  const answer = { window: { page: 10, size: 100 }, rows, total: 1000, perPage: 100, beyondEnd: false }
  findings.learn(prepareWindow(answer, coverage))
  const scanned = { passes: 1, settling: 'open', coverage, findings, caps: USUAL_CAPS } as const

  expect(findings.lastKey).toBe(1000)
  expect(verdictOn(aSettlingPass(), scanned)?.reasons).toContain('capped-total')
})

test.each([true, false])(
  'a total at a round number says something only of a pass that came to the end: %s',
  (complete) => {
    read({ rows: 100, total: 1000 })
    const verdict = verdictOn(
      { ...aSettlingPass(), complete, flaws: new Set<Reason>(['page-cap']) },
      { passes: 1, settling: 'open', coverage, findings, caps: USUAL_CAPS },
    )

    expect(verdict?.proof).toBe('unproven')
    expect(verdict?.reasons.includes('capped-total')).toBe(complete)
  },
)

test.each([
  ['that met the limit of requests leaves it settled', { flaw: 'page-cap', proof: 'settled' }],
  ['that could not read a position leaves it unproven', { flaw: 'hole', proof: 'unproven' }],
  ['of which a page came out of a cache leaves it unproven', { flaw: 'cached-answer', proof: 'unproven' }],
] as const)('after a pass that settled the scan, a further one %s', (_, { flaw, proof }) => {
  read({ rows: 100, total: 100 })
  const pass = { ...aSettlingPass(), settles: false, complete: false, flaws: new Set<Reason>([flaw]) }

  expect(verdictOn(pass, { passes: 2, settling: 'settled', coverage, findings, caps: USUAL_CAPS })?.proof).toBe(proof)
})

/** So many rows are read. */
function read({ rows: count, total }: { rows: number; total: number }): void {
  const rows = Array.from({ length: count }, (_, place) => ({ id: String(place), createdAt: undefined }))
  const answer = { window: { page: 1, size: 100 }, rows, total, perPage: 100, beyondEnd: false }
  const window = prepareWindow(answer, coverage)
  findings.learn(window)
  coverage.add(window)
}

/** A pass without a proof, of which all seams are firm. */
function aSettlingPass({ areNearlyStill = true } = {}): Pass {
  return {
    next: () => undefined,
    take: () => {},
    failed: () => {},
    stop: () => {},
    over: true,
    complete: true,
    stoppedAt: undefined,
    flaws: new Set(),
    obstacles: ['not-quiet'],
    seams: { metAgain: new MetAgain(), areNearlyStill, areWorthAnother: false },
    settles: true,
    proof: () => undefined,
  }
}
