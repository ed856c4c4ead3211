import { expect, test } from 'vitest'
import { restlessNight } from '../support/last-change-scans.ts'
import { seeds } from '../support/seeds.ts'

const LISTS = seeds(10_000)

test('lists by last change that are read upwards are never certified with a row missing', () => {
  const counts = new Map<string, number>()
  let [requests, plain] = [0, 0]
  for (let seed = 0; seed < LISTS; seed += 1) {
    const night = restlessNight(seed)
    const { proof, passes } = night.certificate
    if (proof !== 'unproven') expect({ seed, lost: night.lost }).toEqual({ seed, lost: 0 })
    counts.set(proof, (counts.get(proof) ?? 0) + 1)
    if (passes > 1) continue
    requests += night.requests
    plain += night.plain
  }
  console.log(`by last change: ${[...counts].map(([proof, count]) => `${proof} ${count}`).join(', ')}`)
  console.log(`in one pass: ${(requests / plain).toFixed(2)} times the plain requests`)
  expect(counts.get('unproven') ?? 0).toBeLessThan(LISTS / 50)
  expect(requests / plain).toBeLessThan(1.6)
})
