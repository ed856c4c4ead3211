import { expect, test } from 'vitest'
import { againstSettled, type Cut, type History, unread } from '../support/oracle-of-grades.ts'
import { LIST_KINDS, type ListKind } from '../support/restless-list.ts'
import { type Reading, readRestless } from '../support/restless-reading.ts'
import { seeds } from '../support/seeds.ts'

/** Readings of each kind of list. */
const READINGS = seeds(1000, { least: 30, every: 40 })

/** In these the rows never change places, so that a proof is one, whatever else happens. */
const WITHOUT_MOVES: readonly ListKind[] = ['hidden number', 'created, ties']

test.each(LIST_KINDS)('%s: no reading is proven or settled against the definition', (kind) => {
  const counts = new Map<string, number>()
  const wrong = { calm: 0, all: 0 }
  for (let seed = 1; seed <= READINGS; seed += 1) {
    const reading = readRestless(kind, seed)
    const { proof } = reading.certificate
    const isMissing = proof !== 'unproven' && unread(reading.history).length > 0
    const name = `${proof}${isMissing ? ', rows missing' : ''}`
    counts.set(name, (counts.get(name) ?? 0) + 1)
    if (proof === 'settled') expect({ kind, seed, against: againstSettled(reading.history) }).toMatchObject(HONEST)
    if (proof === 'proven' && WITHOUT_MOVES.includes(kind)) expect({ kind, seed, isMissing }).toMatchObject(WHOLE)
    if (!isMissing || proof === 'settled') continue
    wrong.all += 1
    if (reading.rates.change <= 0.6) wrong.calm += 1
  }
  console.log(`${kind}: ${READINGS} readings: ${[...counts].map(([name, count]) => `${name} ${count}`).join(', ')}`)
  // Without a witness, moves that cancel out in every overlap are not seen: in a short list with several moves a request, most often.
  expect(wrong.calm * 5000).toBeLessThanOrEqual(READINGS)
  expect(wrong.all * 1000).toBeLessThanOrEqual(READINGS)
})

const HONEST = { against: [] }
const WHOLE = { isMissing: false }

test('a list by last change whose end is looked for twice in one place is read to its end', () => {
  // Two windows were planned alike, and the answer to one of them was all that came.
  const { certificate } = readRestless('last change first', 1027)

  expect(certificate.reasons).not.toContain('interrupted')
})

test.each<[string, Partial<Reading['history']>, RegExp[]]>([
  ['all were read', {}, []],
  ['one was not, who kept their place', { lived: [1, 2, 3, 4, 5, 6, 7] }, [/customer 7 kept their place/]],
  ['one was not, who moved', { lived: [1, 2, 3, 4, 5, 6, 7], moved: new Set([7]) }, []],
  ['pages share one customer', { cuts: cutsOf([1, 2, 3], [3, 4, 5, 6]) }, [/no chain/]],
  ['pages share two in another order', { cuts: cutsOf([1, 2, 3], [3, 2, 4, 5, 6]) }, [/no chain/]],
  ['the first page is not there', { cuts: cutsOf([1, 2, 3], [2, 3, 4, 5, 6]).slice(1) }, [/no chain/, /customer 1/]],
])('the oracle of settled readings: %s', (_, change, faults) => {
  const history: History = { cuts: cutsOf([1, 2, 3, 4], [3, 4, 5, 6]), lived: [1, 2, 3, 4, 5, 6], moved: new Set() }

  const found = againstSettled({ ...history, ...change })

  expect(found).toEqual(faults.map((fault): unknown => expect.stringMatching(fault)))
})

test('the oracle of settled readings: a customer may be unread between two pages that share only customers who moved', () => {
  const left: Cut = { start: 0, size: 4, served: [1, 2, 8, 9], list: [1, 2, 8, 9, 3, 4, 5] }
  const right: Cut = { start: 3, size: 4, served: [8, 9, 4, 5], list: [1, 2, 3, 8, 9, 4, 5] }
  const history = { cuts: [left, right], lived: [1, 2, 3, 4, 5, 8, 9] }

  expect(againstSettled({ ...history, moved: new Set([8, 9]) })).toEqual([])
  expect(againstSettled({ ...history, moved: new Set([8]) })).toHaveLength(1)
})

/** Two pages of a list that stands still. */
function cutsOf(left: readonly number[], right: readonly number[]): Cut[] {
  const list = [...new Set([...left, ...right])]
  const start = list.indexOf(Math.min(...right))
  return [
    { start: 0, size: 10, served: left, list },
    { start, size: 10, served: right, list },
  ]
}
