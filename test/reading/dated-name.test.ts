import { expect, test } from 'vitest'
import { tooManyOlder } from '../../src/reading/files/dated-name.ts'

const FILE = '/backup/customers.db'
const AT = '2026-11-22 02:15:00.123'
const named = (time: string) => `/backup/customers-${time}00123Z.db`
const DAY_20 = named('20261120T0215')
const DAY_21 = named('20261121T0215')
const SOON = named('20261122T0315')
const YEAR_2030 = named('20300101T0215')

test.each<[string, string[], string | undefined, number, string[]]>([
  ['none where there are no more than that', [DAY_20, DAY_21], DAY_21, 2, []],
  ['the oldest', [DAY_20, DAY_21], DAY_21, 1, [DAY_20]],
  [
    'the one dated by a clock that was far ahead, before all others',
    [DAY_20, DAY_21, YEAR_2030],
    DAY_21,
    2,
    [YEAR_2030],
  ],
  ['not the one dated an hour ahead: clocks are set by so much', [DAY_20, DAY_21, SOON], DAY_21, 2, [DAY_20]],
  [
    'not the one that was just replaced, though it is dated far ahead',
    [DAY_20, DAY_21, YEAR_2030],
    YEAR_2030,
    1,
    [DAY_20, DAY_21],
  ],
  ['not the one that was just replaced, though it is dated far back', [DAY_20, DAY_21], DAY_20, 1, [DAY_21]],
  ['all of them where none is kept', [DAY_20, DAY_21], undefined, 0, [DAY_20, DAY_21]],
])('too many are %s', (_, older, replaced, most, expected) => {
  expect(tooManyOlder(older, { file: FILE, at: AT, replaced, most })).toEqual(expected)
})
