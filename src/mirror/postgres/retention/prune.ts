import type { Pruned } from '../../../report.ts'
import type { Mirror } from '../../../store.ts'
import { pruneInSteps, type Step } from '../../prune-in-steps.ts'
import { kindsToPrune, DAYS_TO_BELIEVE, believedMs, type Due, type Kind } from '../../rules/retention-rule.ts'
import { lookAtSchema, requireMirror } from '../opening/require-mirror.ts'
import type { Database, Session } from '../session.ts'
import { changesPruning } from './prune-changes.ts'
import { customersPruning } from './prune-customers.ts'
import { rejectsPruning } from './prune-rejects.ts'
import { runsPruning } from './prune-runs.ts'

/** Deletes some rows in the transaction of the caller, and returns how many. */
export type Deletion = (session: Session, most: number) => Promise<number>

/**
 * Deletes what is old. What the deleted rows leave in the files of the server is freed by its autovacuum, as for every other row.
 */
export async function prune(
  database: Database,
  ...[organization, retention, reckoning]: Parameters<Mirror['prune']>
): Promise<Pruned> {
  const day = await database.read(async (session) => {
    requireMirror(await lookAtSchema(session, database.schema), database)
    return await believedDay(session, organization)
  })
  const inOneTransaction = (deletion: Deletion): Step => {
    return (most) =>
      database.write(async (session) => {
        await session.run(FIRST_FOUND)
        return deletion(session, most)
      })
  }
  const due = kindsToPrune(retention, believedMs(reckoning, day))
  return pruneInSteps(due.map((each) => [each.kind, inOneTransaction(PRUNING[each.kind](organization, each))]))
}

const PRUNING: Readonly<Record<Kind, (organization: string, due: Due) => Deletion>> = {
  removedCustomers: customersPruning,
  resolvedRejects: rejectsPruning,
  changes: changesPruning,
  runs: runsPruning,
}

/** A bitmap would be made of all rows that are old enough, at each step. For this transaction. */
const FIRST_FOUND = 'SET LOCAL enable_bitmapscan = off'

/** The first of the last days with a complete run; undefined without one. */
async function believedDay(session: Session, organization: string): Promise<string | undefined> {
  const days = await session.all<{ day: string }>(
    `SELECT to_char(started_at, 'YYYY-MM-DD') AS day FROM runs WHERE organization = $1 AND status = 'complete'
     GROUP BY 1 ORDER BY max(id) DESC LIMIT $2`,
    organization,
    DAYS_TO_BELIEVE,
  )
  return days.at(-1)?.day
}
