import { describe, expect, test } from 'vitest'
import { briefly, FULL, groupsOf, type Member, QUICK } from '../../bench/groups.ts'
import type { Measurement } from '../../bench/messages.ts'
import { QUICK_SCANS } from '../../bench/quick.ts'
import type { GroupResult } from '../../bench/results.ts'
import { runBench } from '../../bench/run-bench.ts'
import { SERVED } from '../../bench/serving.ts'
import { holdingFor, type Target, verdicts } from '../../bench/targets.ts'

describe('targets', () => {
  const aTarget = (target: Partial<Target>): Target => ({
    ...{ title: 'made up', kind: 'ratio', limit: 2, unit: '×', samples: () => [] },
    ...target,
  })
  const judge = (target: Partial<Target>) => verdicts([], [aTarget(target)]).at(0)

  test.each<[what: string, target: Partial<Target>, expected: object]>([
    ['the median at its limit', { samples: () => [1, 2, 9] }, { measured: 2, met: true, farOutside: false }],
    ['over twice as bad', { samples: () => [4.1] }, { measured: 4.1, met: false, farOutside: true }],
  ])('judges %s', (_, target, expected) => {
    expect(judge(target)).toMatchObject(expected)
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
})

test('an unknown group is reported before anything is measured', async () => {
  const output = { stdout: { write: () => true }, stderr: { write: () => true } }

  await expect(runBench(['--only', 'nihgt'], output)).rejects.toThrow(/^--only\.0: .*"quick-runs"/)
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
