import { expect, test } from 'vitest'
import { Coverage } from '../../../src/scan/coverage.ts'
import { Findings } from '../../../src/scan/findings.ts'
import { LinkedPass } from '../../../src/scan/forward/linked-pass.ts'
import type { Pass } from '../../../src/scan/pass.ts'
import { SweepPass } from '../../../src/scan/passes/sweep-pass.ts'
import { PendingWindows } from '../../../src/scan/plan/pending-windows.ts'
import { equalPlan } from '../../../src/scan/plan/planner.ts'
import { seenIds } from '../../../src/scan/seen.ts'
import { prepareWindow } from '../../../src/scan/window/read-window.ts'
import type { Window } from '../../../src/scan/window/window.ts'

const TOTAL = 100_000
/** The windows that a pass keeps while it waits for the nearest one. */
const MOST = 128

const linkedPass = (findings: Findings) => new LinkedPass(findings, 2)
const sweepPass = (findings: Findings) =>
  new SweepPass(findings, equalPlan(TOTAL, 100, 2000), { backward: false, overlapping: false })

test.each<[string, (findings: Findings) => Pass]>([
  ['linked', linkedPass],
  ['sweeping', sweepPass],
])('a %s pass asks for no more windows ahead of one that does not come, however many may be under way', (_, passOf) => {
  const findings = new Findings(100)
  const coverage = new Coverage(seenIds())
  const read = (window: Window) => {
    const rows = Array.from({ length: window.size }, (__, at) => window.size * (window.page - 1) + at + 1)
    const prepared = prepareWindow({ window, rows, total: TOTAL, perPage: window.size, beyondEnd: false }, coverage)
    findings.learn(prepared)
    coverage.add(prepared)
    return prepared
  }
  const pass = passOf(findings)
  const first = pass.next()
  if (first === undefined) throw new Error('Nothing is asked for.')
  pass.take(first, read(first))
  const late = pass.next()
  const asked = [late, ...asksFor(pass)]
  for (const window of asked) if (window !== undefined && window !== late) pass.take(window, read(window))

  expect(asked).toHaveLength(MOST)
  expect(asksFor(pass)).toEqual([])
})

test('there is no place for a recalled window where as many are kept, unless it is awaited', () => {
  const pending = new PendingWindows(equalPlan(TOTAL, 100, MOST))

  expect(pending.placeFor({ page: MOST, size: 100 })?.window.page).toBe(MOST)
  expect(pending.placeFor({ page: MOST + 1, size: 100 })).toBeUndefined()
})

/** All that a pass asks for until it waits. */
function asksFor(pass: Pass): Window[] {
  const windows: Window[] = []
  for (let window = pass.next(); window !== undefined && windows.length < 1000; window = pass.next())
    windows.push(window)
  return windows
}
