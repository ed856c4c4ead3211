import { expect, test } from 'vitest'
import { briefly, FULL, groupsOf, type Member, QUICK } from '../../bench/groups.ts'
import type { Measurement } from '../../bench/messages.ts'
import { QUICK_SCANS } from '../../bench/quick.ts'
import type { GroupResult } from '../../bench/results.ts'
import { SERVED } from '../../bench/serving.ts'
import { holdingFor, type Target, verdicts } from '../../bench/targets.ts'

test.each([
  ['the median at its limit', [1, 2, 9], { measured: 2, met: true, farOutside: false }],
  ['over twice as bad', [4.1], { measured: 4.1, met: false, farOutside: true }],
])('the targets judge %s', (_, samples, expected) => {
  const target: Target = { title: 'made up', kind: 'ratio', limit: 2, unit: '×', samples: () => samples }
  expect(verdicts([], [target])[0]).toMatchObject(expected)
})

test.each([
  ['the full benchmark', FULL],
  ['the quick one', QUICK],
])('%s measures everything that the targets of its size depend on', (_, sizes) => {
  const groups = briefly(groupsOf(sizes))
  const results = madeUpResults(groups.flatMap(({ members }) => members))
  const holding = holdingFor(sizes.large?.one.customers ?? sizes.customers)

  expect(verdicts(results, holding).map(({ title }) => title)).toEqual(holding.map(({ title }) => title))
})

const MADE_UP: Measurement = {
  ...{ wallMs: 1000, cpuMs: 900, peakRssBytes: 100 * 1024 ** 2, writtenBytes: 5000, fileBytes: 8000 },
  ...{ requests: 12, customers: 1000, longestBlockMs: 90 },
}

/** Results in which every member took the same. */
function madeUpResults(members: readonly Member[]): GroupResult[] {
  const served = Object.values(SERVED).flatMap((each) => [each.served, each.byHand])
  const names = [...members.map(({ name }) => name), ...Object.values(QUICK_SCANS), ...served]
  const rows = names.map((name) => ({ name, floors: [], measurements: [MADE_UP] }))
  return [{ name: 'made up', about: 'nothing', rows }]
}
