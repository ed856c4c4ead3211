import { expect, inject, test } from 'vitest'
import { dice } from '../support/dice.ts'
import { aMirrorFile } from '../support/mirror-file.ts'
import { seeds } from '../support/seeds.ts'
import { play } from './play.ts'

test('whatever is hidden, pruned, forgotten, renamed, retired and restored, the mirror and its feed hold what they say', async () => {
  const steps = inject('isDeep') ? 60 : 20
  const first = Array.from({ length: seeds(20, { least: 1, every: 20 }) }, (_, index) => index + 1)
  for (const seed of [...first, 29])
    expect({ seed, ...(await play(aMirrorFile(), dice(seed), steps)) }).toMatchObject({ seed, untruths: [] })
})
