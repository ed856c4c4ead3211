import { expect, test } from 'vitest'
import { aMirror } from './support/mirror-file.ts'
import { playDays } from './support/random-days.ts'

const HISTORIES = 2000
const FIRST = Number(process.env['FROM'] ?? 1)
const LAST = FIRST - 1 + Number(process.env['SEEDS'] ?? HISTORIES)

test('over thousands of random days with quick runs between nights, the mirror and its reports contain nothing wrong', async () => {
  const kinds = new Set<string>()
  const found: string[] = []
  for (let seed = FIRST; seed <= LAST; seed += 1) {
    // A file of its own for each hundred: readers look at all of it.
    const mirror = await aMirror()
    const { untruths, statuses } = await playDays(mirror, seed)
    found.push(...untruths)
    for (const status of statuses) kinds.add(status)
  }
  expect(found).toEqual([])
  expect([...kinds]).toEqual(
    expect.arrayContaining([
      'quick partial unproven',
      'quick failed unproven',
      'quick interrupted unproven',
      'quick killed unproven',
    ]),
  )
}, 3_600_000)
