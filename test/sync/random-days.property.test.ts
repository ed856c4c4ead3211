import { expect, test } from 'vitest'
import { aMirror } from '../support/mirror-file.ts'
import { playDays } from '../support/random-days.ts'

test('over random days with quick runs between nights, the mirror and its reports contain nothing wrong', async () => {
  const mirror = await aMirror()
  for (const seed of [8, 37, 46, 335])
    expect({ seed, ...(await playDays(mirror, seed)) }).toMatchObject({ untruths: [] })
})
