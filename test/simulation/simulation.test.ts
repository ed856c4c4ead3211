import { expect, test } from 'vitest'
import { aMirrorFile } from '../support/mirror-file.ts'
import { onPostgres } from '../support/mirror-choice.ts'
import { seeds } from '../support/seeds.ts'
import { onServer, planOf, shrunk } from './plan.ts'
import { playWorld } from './world.ts'

/** Worlds of some nights beside the one below: in a deep run, and `.ci/run` plays 300 more of them. */
const WORLDS = seeds(400, { least: 0, every: Infinity })
const NIGHTS = 5
/** Its service says of a longer list that it ends with the first page, which quick runs took for the end. */
const CAPPED_TOTAL = 224

test('in no world is a grade, a removal, a report or a secret other than it may be, all is current after calm nights, and a seed brings the same world again', async () => {
  const play = (seed: number) => {
    const planned = planOf(seed, NIGHTS)
    return playWorld({ file: aMirrorFile(), seed, nights: NIGHTS, faults: onPostgres ? onServer(planned) : planned })
  }
  for (const seed of Array.from({ length: WORLDS }, (_, index) => index + 1))
    expect({ seed, ...(await play(seed)) }).toMatchObject({ seed, untruths: [] })
  const { log, untruths } = await play(CAPPED_TOTAL)
  expect({ log: log.length > 5, untruths }).toEqual({ log: true, untruths: [] })
  if (!onPostgres) expect(await play(CAPPED_TOTAL)).toEqual({ log, untruths })
})

test('faults that a failure does not need are left out', async () => {
  const faults = planOf(3, 40)
  const [one, other] = [faults[4], faults[faults.length - 2]]
  const needed = await shrunk(faults, async (fewer) =>
    [one, other].every((fault) => fault !== undefined && fewer.includes(fault)),
  )
  expect(needed).toEqual([one, other])
})
