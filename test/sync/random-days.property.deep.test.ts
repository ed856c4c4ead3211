import { expect, test } from 'vitest'
import { aMirror } from '../support/mirror-file.ts'
import { playDays } from '../support/random-days.ts'
import { seeds } from '../support/seeds.ts'

/** Histories of some days each in a test, so that none of the tests is long. */
const TWENTY = 20
const FIRST_SEEDS = Array.from({ length: 4 }, (_, index) => 1 + index * TWENTY)

/** How the runs of all of them ended. */
const kinds = new Set<string>()

test.each(FIRST_SEEDS)(
  'over up to twenty random histories with quick runs between nights, from seed %d on, the mirror and its reports contain nothing wrong',
  async (first) => {
    const found: string[] = []
    for (let seed = first; seed < first + seeds(TWENTY, { least: 15 }); seed += 1) {
      // A file of its own for each: readers look at all of it.
      const { untruths, statuses } = await playDays(await aMirror(), seed)
      found.push(...untruths)
      for (const status of statuses) kinds.add(status)
    }
    expect(found).toEqual([])
  },
)

test('quick runs of these histories end in every way', () => {
  expect([...kinds]).toEqual(
    expect.arrayContaining([
      'quick partial unproven',
      'quick failed unproven',
      'quick interrupted unproven',
      'quick killed unproven',
    ]),
  )
})
