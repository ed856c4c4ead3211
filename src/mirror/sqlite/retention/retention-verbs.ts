import type { Mirror } from '../../../store.ts'
import type { Connection, RowWriting } from '../opening/database.ts'
import { pruneInSteps, type Step } from '../../prune-in-steps.ts'
import { nothingPruned } from '../../../report.ts'
import { kindsToPrune, DAYS_TO_BELIEVE, believedMs, type Due, type Kind } from '../../rules/retention-rule.ts'
import { changesPruning } from './prune-changes.ts'
import { customersPruning } from './prune-customers.ts'
import { rejectsPruning } from './prune-rejects.ts'
import { runsPruning } from './prune-runs.ts'
import { withoutForeignKeys } from '../opening/foreign-keys.ts'
import { deletingSecurely, emptyWal } from '../purge.ts'
import { statement } from '../statement.ts'

/** Deletes some rows in the transaction of the caller, and returns how many. */
export type Deletion = (most: number) => number

/** The verb of a mirror that deletes what is old. */
export function pruning(db: Connection, { isKept, writeInPlace }: RowWriting): Mirror['prune'] {
  let owesWal = false
  const inOneTransaction = (kind: Kind, deletion: Deletion): Step => {
    // SQLite would look for each deleted run in every customer and change. The statement that deletes runs has done that once for all of
    // them, in the same transaction.
    const enforce = kind === 'runs' ? withoutForeignKeys : (_: Connection, work: () => number) => work()
    return (most) => enforce(db, () => deletingSecurely(db, () => writeInPlace(() => deletion(most))))
  }
  return async (organization, retention, reckoning) => {
    if (!isKept) return nothingPruned()
    const due = kindsToPrune(retention, believedMs(reckoning, believedDay(db, organization)))
    const pruned = await pruneInSteps(
      due.map((each) => [each.kind, inOneTransaction(each.kind, PRUNING[each.kind](db, organization, each))]),
    )
    const isPersonal = pruned.changes + pruned.resolvedRejects + pruned.removedCustomers > 0
    // A reader who was waited for in vain is not waited for after every run of a night.
    if (isPersonal || owesWal) owesWal = !emptyWal(db, owesWal ? { patienceMs: 0 } : {})
    pruned.isUnfinished ||= owesWal
    return pruned
  }
}

const PRUNING: Readonly<Record<Kind, (db: Connection, organization: string, due: Due) => Deletion>> = {
  removedCustomers: customersPruning,
  resolvedRejects: rejectsPruning,
  changes: changesPruning,
  runs: runsPruning,
}

/** The first of the last days with a complete run; undefined without one. */
function believedDay(db: Connection, organization: string): string | undefined {
  const days = statement<[string, number], string>(
    db,
    `SELECT substr(started_at, 1, 10) AS day FROM runs WHERE organization = ? AND status = 'complete'
     GROUP BY day ORDER BY MAX(id) DESC LIMIT ?`,
  )
    .pluck()
    .all(organization, DAYS_TO_BELIEVE)
  return days.at(-1)
}
