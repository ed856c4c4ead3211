import { expect, test } from 'vitest'
import { aMirror } from '../support/mirror-file.ts'
import { playHistory } from '../support/random-history.ts'
import { seeds } from '../support/seeds.ts'

/** Histories of some nights each; a thirtieth of them in `npm test`. */
const HISTORIES = 300

test('over random nights of services that change, fail and lie, the mirror and its reports contain nothing wrong', async () => {
  const mirror = await aMirror()
  const proofs = new Set<string>()
  for (let seed = 1; seed <= seeds(HISTORIES, { every: 30 }); seed += 1) {
    const { untruths, reports } = await playHistory(mirror, seed)
    expect({ seed, untruths }).toEqual({ seed, untruths: [] })
    for (const { status, proof } of reports) proofs.add(`${status} ${proof}`)
  }
  expect([...proofs]).toEqual(
    expect.arrayContaining(['complete proven', 'complete unproven', 'failed unproven', 'interrupted unproven']),
  )
})
