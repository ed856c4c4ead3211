import { expect, test } from 'vitest'
import type { Absent } from '../../src/model/run.ts'
import { areTooMany, decideAbsences, endingWith, NO_ABSENCES } from '../../src/store/absent/removal-rule.ts'
import { customerId } from '../support/builders.ts'

test.each<[absent: number, before: number, now: number, areTooMany: boolean]>([
  [1, 1, 0, true],
  [2, 2, 1, false],
  [3, 3, 1, true],
  [3, 4, 1, false],
  [20, 100, 80, false],
  [21, 100, 79, true],
  [21, 210, 189, false],
  [22, 210, 188, true],
])(
  '%d absent of %d customers listed before, with %d listed now, are too many at once: %s',
  (gone, before, now, tooMany) => {
    expect(areTooMany(gone, { before: () => before, now }, { after: 2, maxShare: 0.1 })).toBe(tooMany)
  },
)

test.each([
  ['all were searched for, and others are due', false, [absent(1), absent(2)], undefined],
  ['a sample was searched for, and others are due', true, [absent(1), absent(2)], [absent(2)]],
  ['a sample was searched for, and no other is due', true, [absent(1), absent(2, 0)], undefined],
])('where a search finds an absent customer, the removals held back are right: %s', (_, isSample, rows, held) => {
  const searched = { confirmed: new Set<string>(), found: new Set([customerId(1)]), isSample }
  const evidence = { absent: rows, unjudged: new Set<number>(), isTooMuch: false, searched }
  const decision = decideAbsences({ ...evidence, proof: 'proven', rule: { after: 2, maxShare: 0.1 } })

  expect(decision).toMatchObject({ isBelieved: false, listed: [absent(1)], missing: [] })
  expect(decision.held).toEqual(held)
})

test('where too many are absent, all of them are held back, and that the list may be older is said all the same', () => {
  const rows = [absent(1), absent(2)]
  const evidence = { absent: rows, unjudged: new Set([1]), isTooMuch: true, searched: { confirmed: new Set<string>() } }
  const decision = decideAbsences({ ...evidence, proof: 'proven', rule: { after: 2, maxShare: 0.1 } })

  expect(decision).toMatchObject({ reasons: ['older-list'], isBelieved: true, held: rows, missing: [] })
})

test('a scan that absences contradict keeps no proof, and names the customers that were found, if there are any', () => {
  const source = { requests: 1, throttled: 0, waitedMs: 0 }
  const ending = { status: 'complete', proof: 'proven', reasons: [], readToEnd: true, source, certificate: {} } as const
  const against = { ...NO_ABSENCES, reasons: ['older-list'], isBelieved: false } as const

  expect(endingWith(ending, against)).toEqual({
    ...{ status: 'complete', source, proof: 'unproven', reasons: ['older-list'], readToEnd: false },
    certificate: { proof: 'unproven', reasons: ['older-list'] },
  })
  expect(endingWith(ending, { ...against, found: [customerId(1)] }).certificate).toMatchObject({
    found: [customerId(1)],
  })
})

function absent(n: number, missingProven = 1): Absent {
  const counted = { missingProven, missingScans: missingProven, missingWhole: missingProven }
  return { rowId: n, id: customerId(n), name: null, username: null, email: null, createdAtUtc: null, ...counted }
}
