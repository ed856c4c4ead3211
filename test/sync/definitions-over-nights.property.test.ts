import { expect, test } from 'vitest'
import { aMirror } from '../support/mirror-file.ts'
import { againstSettled, unread } from '../support/oracle-of-grades.ts'
import { LIST_KINDS, type ListKind } from '../support/restless-list.ts'
import { playRestlessNights } from '../support/restless-nights.ts'
import { seeds } from '../support/seeds.ts'

/** Lists of each kind, each with five nights. */
const LISTS = seeds(30, { least: 1, every: 30 })

/** In these the rows never change places, so that a proof is one, whatever else happens. */
const WITHOUT_MOVES: readonly ListKind[] = ['hidden number', 'created, ties']

test.each(LIST_KINDS)(
  '%s: over nights that remember each other, no run breaks the definition of its grade, and no listed customer is removed',
  async (kind) => {
    const mirror = await aMirror()
    const counts = new Map<string, number>()
    let wronglyProven = 0
    for (let seed = 1; seed <= LISTS; seed += 1) {
      for (const { night, outcome, basis, history, wronglyRemoved } of await playRestlessNights(mirror, kind, seed)) {
        const { proof } = outcome.report
        const isMissing = proof === 'proven' && unread(history).length > 0
        const name = [proof, basis, ...(isMissing ? ['rows missing'] : [])].filter(Boolean).join(', ')
        counts.set(name, (counts.get(name) ?? 0) + 1)
        const against = proof === 'settled' ? againstSettled(history) : []
        expect({ kind, seed, night, against, wronglyRemoved }).toMatchObject({ against: [], wronglyRemoved: 0 })
        if (WITHOUT_MOVES.includes(kind)) expect({ kind, seed, night, isMissing }).toMatchObject({ isMissing: false })
        if (isMissing) wronglyProven += 1
      }
    }
    console.log(`${kind}: ${LISTS} lists: ${[...counts].map(([name, count]) => `${name}: ${count}`).join('; ')}`)
    expect(wronglyProven * 2000).toBeLessThanOrEqual(5 * LISTS)
  },
)
