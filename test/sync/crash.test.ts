import { expect, test } from 'vitest'
import { openMirror } from '../../src/store/mirror.ts'
import { mirrorOrganization } from '../../src/sync/mirror-organization.ts'
import { dice } from '../support/dice.ts'
import { changingList, listedSource, mirroring } from '../support/listed-source.ts'
import { aMirrorFile, expectHolds, expectSound } from '../support/mirror-file.ts'
import { childProgram, killedAfter } from '../support/run-cli.ts'
import { seeds } from '../support/seeds.ts'

const KILLS = seeds(4, { least: 1 })
const SEEDS = Array.from({ length: seeds(3, { least: 1 }) }, (_, index) => index + 1)
/** More than a child can mirror before it is killed. */
const EDITIONS = 50

/**
 * Each seed takes one mirror through several killed runs. The moment of a kill is so many lines of the child and then so
 * many microseconds, so that it falls anywhere: into the making of the file, a transaction, a commit, a checkpoint.
 */
test.each(SEEDS)(
  'a run killed at any instant leaves a sound mirror, and the next run completes it (seed %d)',
  async (seed) => {
    const file = aMirrorFile()
    const random = dice(seed)

    for (let kill = 1; kill <= KILLS; kill += 1) {
      const lines = kill === 1 ? 1 + random.below(3) : 1 + random.below(30)
      const killed = killedAfter(childProgram('mirror', file, String(EDITIONS * kill)), {
        lines,
        microseconds: random.below(4000),
      })
      expect(await killed).toEqual([null, 'SIGKILL'])
      expectSound(file)
      // Sometimes a run that was killed is followed by another that will be.
      if (kill % 2 === 0 || kill === KILLS) await expectConverges(file, EDITIONS * (kill + 1) - 1)
    }
  },
)

async function expectConverges(file: string, edition: number): Promise<void> {
  const list = changingList(edition)
  const mirror = await openMirror(file)
  const settings = { pageSize: 100, resumeWithinMs: 0 }
  const { report, error } = await mirrorOrganization(mirroring(mirror, listedSource(list), settings))
  await mirror.close()

  expect(error).toBeUndefined()
  expect(report).toMatchObject({ status: 'complete', received: list.length, rejected: 2 })
  expectSound(file)
  expectHolds(file, list)
}
