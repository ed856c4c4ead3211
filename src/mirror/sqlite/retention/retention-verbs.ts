import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Pruned } from '../../../report.ts'
import type { Reckoning, Retention } from '../../../run.ts'
import type { Mirror } from '../../../store.ts'
import type { Connection } from '../database.ts'
import { changesPruning } from './prune-changes.ts'
import { customersPruning } from './prune-customers.ts'
import { rejectsPruning } from './prune-rejects.ts'
import { runsPruning } from './prune-runs.ts'
import { deletingSecurely, emptyWal } from '../purge.ts'
import { soberMs } from './sober-clock.ts'

/** Deletes some rows in one transaction, and returns how many; 0 when nothing is old enough. */
export type Step = (most: number) => number

/** `isKept`: not a rehearsal, which is a private copy that is gone in a moment. */
type Place = { isKept: boolean; writeInPlace: <Result>(work: () => Result) => Result }

/** Rows in one transaction: some tens of milliseconds, in which other writers wait. */
const ROWS_AT_ONCE = 2000

/** Transactions after one run. A first pruning of millions of rows takes many nights, and no night takes much longer for it. */
const MOST_STEPS = 50

/** The verb of a mirror that deletes what is old. */
export function retentionVerbs(db: Connection, { isKept, writeInPlace }: Place): Pick<Mirror, 'prune'> {
  let owesWal = false
  return {
    prune: async (organization, retention, reckoning) => {
      const pruned: Pruned = { ...NOTHING }
      if (!isKept) return pruned
      let left = MOST_STEPS
      for (const [kind, step] of stepsOf(db, organization, retention, reckoning)) {
        const deleteSome = (most: number) => deletingSecurely(db, () => writeInPlace(() => step(most)))
        const enforce = kind === 'runs' ? withoutForeignKeys : (_: Connection, work: () => number) => work()
        let found = ROWS_AT_ONCE
        for (; found === ROWS_AT_ONCE && left > 0; left -= 1) {
          found = enforce(db, () => deleteSome(ROWS_AT_ONCE))
          pruned[kind] += found
          // Runs of other organizations and health checks in this process go on in between.
          await nextTurn()
        }
        pruned.isUnfinished ||= found === ROWS_AT_ONCE
      }
      const isPersonal = pruned.changes + pruned.resolvedRejects + pruned.removedCustomers > 0
      // A reader who was waited for in vain is not waited for after every run of a night.
      if (isPersonal || owesWal) owesWal = !emptyWal(db, owesWal ? { patienceMs: 0 } : {})
      pruned.isUnfinished ||= owesWal
      return pruned
    },
  }
}

/**
 * SQLite would look for each deleted run in every customer and change. The statement that deletes runs has done that once for all of
 * them, in the same transaction.
 */
function withoutForeignKeys(db: Connection, work: () => number): number {
  db.pragma('foreign_keys = OFF')
  try {
    return work()
  } finally {
    db.pragma('foreign_keys = ON')
  }
}

const NOTHING: Pruned = {
  ...{ changes: 0, resolvedRejects: 0, runs: 0, removedCustomers: 0 },
  isUnfinished: false,
  error: undefined,
}

type Kind = 'changes' | 'resolvedRejects' | 'runs' | 'removedCustomers'

/** Runs last: what was deleted before refers to them no more. */
function* stepsOf(
  db: Connection,
  organization: string,
  { changesMs, resolvedRejectsMs, runsMs, removedCustomersMs }: Retention,
  reckoning: Reckoning,
): Generator<[Kind, Step]> {
  const asOfMs = soberMs(db, organization, reckoning)
  if (removedCustomersMs !== undefined)
    yield ['removedCustomers', customersPruning(db, organization, asOfMs - removedCustomersMs)]
  if (resolvedRejectsMs !== undefined)
    yield ['resolvedRejects', rejectsPruning(db, organization, asOfMs - resolvedRejectsMs)]
  if (changesMs !== undefined)
    yield ['changes', changesPruning(db, organization, { beforeMs: asOfMs - changesMs, asOfMs })]
  if (runsMs !== undefined) yield ['runs', runsPruning(db, organization, asOfMs - runsMs)]
}
