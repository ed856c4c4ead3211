import { expect, test } from 'vitest'
import {
  type AbsenceEvidence,
  areTooMany,
  decideAbsences,
  isCandidate,
} from '../../../src/store/absent/removal-rule.ts'
import type { Absent, Searched } from '../../../src/model/run.ts'

const RULE = { after: 2, maxShare: 0.1 }

/** A customer absent for the second time, whose id is that number. */
function anAbsent(rowId: number, absences: Partial<Absent> = {}): Absent {
  const named = { name: null, username: null, email: null, createdAtUtc: null }
  return { rowId, id: String(rowId), ...named, missingProven: 1, missingScans: 1, missingWhole: 1, ...absences }
}

function decide(evidence: Partial<AbsenceEvidence>) {
  const usual = {
    unjudged: new Set<number>(),
    proof: 'proven',
    rule: RULE,
    searched: { confirmed: new Set<string>() },
  } as const
  const absent = [anAbsent(1), anAbsent(2)]
  const { missing, held, listed, ...said } = decideAbsences({ absent, ...usual, isTooMuch: false, ...evidence })
  const removed = missing.filter(({ isRemoved }) => isRemoved).map(({ row }) => row.rowId)
  const counted = missing.filter(({ isCounted }) => isCounted).map(({ row }) => row.rowId)
  const rows = {
    missing: missing.map(({ row }) => row.rowId),
    removed,
    counted,
    listed: listed.map(({ rowId }) => rowId),
  }
  return { ...said, ...rows, held: held?.map(({ rowId }) => rowId) }
}

const NOTHING = { isBelieved: true, missing: [], removed: [], counted: [], listed: [], held: undefined, reasons: [] }
const [ONE, TWO] = [new Set(['1']), new Set(['2'])]

test.each<[string, Partial<AbsenceEvidence>, object]>([
  ['the second absence from a proven scan removes', {}, { missing: [1, 2], counted: [1, 2], removed: [1, 2] }],
  [
    'the first one does not',
    { absent: [anAbsent(1, { missingProven: 0, missingScans: 0, missingWhole: 0 })] },
    { missing: [1], counted: [1], removed: [] },
  ],
  [
    'a settled scan removes only the customers that searches did not find',
    { proof: 'settled', searched: { confirmed: TWO } },
    { missing: [1, 2], counted: [1, 2], removed: [2] },
  ],
  [
    'a refused search keeps no customer',
    { searched: { confirmed: TWO, refused: 1 } },
    { missing: [1, 2], counted: [1, 2], removed: [1, 2] },
  ],
  [
    'unfinished searches keep all customers',
    { searched: { confirmed: TWO, isPostponed: true } },
    { missing: [1, 2], counted: [1, 2], removed: [] },
  ],
  ['too many are held back, and none is marked', { isTooMuch: true }, { held: [1, 2] }],
  [
    'a list that lacks exactly the newest customers is not believed',
    { unjudged: new Set([1, 2]) },
    { reasons: ['older-list'], isBelieved: false },
  ],
  [
    'where others are absent too, the newest ones are not counted',
    { unjudged: new Set([2]) },
    { reasons: ['older-list'], missing: [1, 2], counted: [1], removed: [1] },
  ],
  [
    'a customer that a search finds takes the proof from the scan',
    { searched: { confirmed: TWO, found: ONE } },
    { reasons: ['contradicted'], isBelieved: false, listed: [1] },
  ],
  [
    'found in a sample, it holds back the others, even where they are too many',
    { searched: { confirmed: new Set(), found: ONE, isSample: true }, isTooMuch: true },
    { reasons: ['contradicted'], isBelieved: false, listed: [1], held: [2] },
  ],
  [
    'found in a sample where no other is due, it leaves what is held as it is',
    {
      absent: [anAbsent(1), anAbsent(2, { missingProven: 0, missingScans: 0, missingWhole: 0 })],
      searched: { confirmed: new Set(), found: ONE, isSample: true },
    },
    { reasons: ['contradicted'], isBelieved: false, listed: [1] },
  ],
])('%s', (_, evidence, expected) => {
  expect(decide(evidence)).toEqual({ ...NOTHING, ...expected })
})

const BOTH = ONE.union(TWO)
const NONE = new Set<string>()

/** Rows removed after a proven scan, after a settled one, and after an unproven one that was whole. Both are due. */
test.each<[string, Searched, number[], number[]]>([
  ['were not made', { confirmed: NONE }, [1, 2], []],
  ['confirm both', { confirmed: BOTH }, [1, 2], [1, 2]],
  ['confirm one, and prove nothing about the other', { confirmed: TWO }, [1, 2], [2]],
  ['confirm one, and were refused for the other', { confirmed: TWO, refused: 1 }, [1, 2], [2]],
  ['were refused for both', { confirmed: NONE, refused: 2 }, [1, 2], []],
  ['confirm one of a sample', { confirmed: TWO, isSample: true }, [1, 2], [2]],
  ['confirm both, but were not finished', { confirmed: BOTH, isPostponed: true }, [], []],
  ['find one', { confirmed: TWO, found: ONE }, [], []],
  ['find one of a sample', { confirmed: TWO, found: ONE, isSample: true }, [], []],
])('of two absent customers, searches that %s', (_, searched, afterProven, afterOthers) => {
  const absent = [1, 2].map((rowId) => anAbsent(rowId, { missingWhole: 2 }))
  const removedAfter = (proof: AbsenceEvidence['proof']) => decide({ absent, proof, searched }).removed

  expect(removedAfter('proven')).toEqual(afterProven)
  expect(removedAfter('settled')).toEqual(afterOthers)
  expect(removedAfter('whole')).toEqual(afterOthers)
})

test.each<[Partial<AbsenceEvidence>, object]>([
  [{ isTooMuch: true }, { held: [1, 2] }],
  [{ unjudged: new Set([1, 2]) }, { reasons: ['older-list'], isBelieved: false }],
  [
    { unjudged: new Set([2]), searched: { confirmed: BOTH } },
    { reasons: ['older-list'], missing: [1, 2], counted: [1], removed: [1] },
  ],
  [{ searched: { confirmed: TWO, found: ONE } }, { reasons: ['contradicted'], isBelieved: false, listed: [1] }],
])('the guards hold after a settled scan too: %o', (evidence, expected) => {
  expect(decide({ ...evidence, proof: 'settled' })).toEqual({ ...NOTHING, ...expected })
})

test('a customer who was absent from a proven and a settled scan is removed where searches confirm it', () => {
  const absent = [1, 2].map((rowId) => anAbsent(rowId, { missingProven: 0 }))

  expect(decide({ absent, searched: { confirmed: TWO } })).toMatchObject({ missing: [1, 2], removed: [2] })
})

test.each([
  [20, { before: 21, now: 1 }, false],
  [21, { before: 210, now: 189 }, false],
  [21, { before: 209, now: 188 }, true],
  [1, { before: 1, now: 0 }, true],
  [2, { before: 2, now: 1 }, false],
  [3, { before: 3, now: 1 }, true],
  [3, { before: 4, now: 1 }, false],
  [20, { before: 20, now: 500 }, true],
])('%i absent of %o are too many: %s', (absent, listed, expected) => {
  const { before, now } = listed

  expect(areTooMany(absent, { before: () => before, now }, RULE)).toBe(expected)
})

test('customers listed before are counted only where their number decides', () => {
  const before = () => expect.unreachable()

  expect(areTooMany(2, { before, now: 1 }, RULE)).toBe(false)
  expect(areTooMany(1, { before, now: 0 }, RULE)).toBe(true)
})

test.each([
  ['proven', { missingProven: 1, missingScans: 1, missingWhole: 1 }, true],
  ['proven', { missingProven: 0, missingScans: 1, missingWhole: 1 }, true],
  ['proven', { missingProven: 0, missingScans: 0, missingWhole: 1 }, false],
  ['settled', { missingProven: 0, missingScans: 1, missingWhole: 1 }, true],
  ['settled', { missingProven: 0, missingScans: 0, missingWhole: 1 }, false],
  ['settled', { missingProven: 0, missingScans: 0, missingWhole: 2 }, true],
  ['whole', { missingProven: 1, missingScans: 1, missingWhole: 1 }, false],
  ['whole', { missingProven: 0, missingScans: 2, missingWhole: 2 }, true],
  ['whole', { missingProven: 0, missingScans: 0, missingWhole: 2 }, true],
] as const)('after a %s scan, %o is due: %s', (proof, absences, expected) => {
  expect(isCandidate(anAbsent(1, absences), RULE, proof)).toBe(expected)
})
