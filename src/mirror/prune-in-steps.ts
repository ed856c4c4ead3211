import { setImmediate as nextTurn } from 'node:timers/promises'
import { nothingPruned, type Pruned } from '../report.ts'
import type { Kind } from './rules/retention-rule.ts'

/** Rows in one transaction: some tens of milliseconds, in which other writers wait. */
const ROWS_AT_ONCE = 2000

/** Transactions after one run. A first pruning of millions of rows takes many nights, and no night takes much longer for it. */
const MOST_STEPS = 50

/** Deletes at most so many rows of one kind in one transaction, and returns how many; 0 when nothing is old enough. */
export type Step = (most: number) => number | Promise<number>

/** Takes bounded steps until nothing is old enough or the night is over. */
export async function pruneInSteps(steps: Iterable<[Kind, Step]>): Promise<Pruned> {
  const pruned = nothingPruned()
  let left = MOST_STEPS
  for (const [kind, step] of steps) {
    let found = ROWS_AT_ONCE
    for (; found === ROWS_AT_ONCE && left > 0; left -= 1) {
      found = await step(ROWS_AT_ONCE)
      pruned[kind] += found
      // Runs of other organizations and health checks in this process go on in between.
      await nextTurn()
    }
    pruned.isUnfinished ||= found === ROWS_AT_ONCE
  }
  return pruned
}
