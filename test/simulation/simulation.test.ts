import { expect, test } from 'vitest'
import { aMirrorFile } from '../support/mirror-file.ts'
import { onPostgres } from '../support/mirror-choice.ts'
import { seeds } from '../support/seeds.ts'
import { planOf, shrunk } from './plan.ts'
import { playWorld } from './world.ts'

/** Worlds of some nights: 300 of them in `.ci/run`, which plays a fiftieth of all. */
const WORLDS = seeds(15_000, { least: 20, every: 1000 })
const NIGHTS = 7

test.runIf(!onPostgres)(
  'in no world is a grade, a removal, a report or a secret other than it may be, and all is current after calm nights',
  async () => {
    for (let seed = 1; seed <= WORLDS; seed += 1) {
      const { untruths } = await playWorld({ file: aMirrorFile(), seed, nights: NIGHTS, faults: planOf(seed, NIGHTS) })
      expect({ seed, untruths }).toEqual({ seed, untruths: [] })
    }
  },
)

test.runIf(!onPostgres)('the same seed brings the same world, line for line', async () => {
  const play = () => playWorld({ file: aMirrorFile(), seed: 20, nights: 12, faults: planOf(20, 12) })
  const { log } = await play()
  expect(log.length).toBeGreaterThan(20)
  expect(await play()).toEqual({ log, untruths: [] })
})

test('faults that a failure does not need are left out', async () => {
  const faults = planOf(3, 40)
  const [one, other] = [faults[4], faults[faults.length - 2]]
  const needed = await shrunk(faults, async (fewer) =>
    [one, other].every((fault) => fault !== undefined && fewer.includes(fault)),
  )
  expect(needed).toEqual([one, other])
})
