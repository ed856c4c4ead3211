import type { Mirror } from '../../../store.ts'
import { HOLDER, renewLease } from './lease.ts'
import type { Database } from '../session.ts'
import { startRun } from './start-run.ts'
import { isBegun } from './still-there.ts'
import { recallWindows } from './windows.ts'

type RunVerbs = Pick<Mirror, 'standing' | 'startRun' | 'renewLease' | 'recallWindows'>

/** The verbs by which a run begins and goes on. */
export function runVerbs(database: Database): RunVerbs {
  const { address } = database
  return {
    // A database is not moved away under an open connection.
    standing: () => 'same',
    startRun: (start) =>
      database.write(
        (session) => startRun(session, start, { holder: HOLDER, address }),
        start,
        (session, run) => isBegun(session, run),
      ),
    renewLease: (run) => database.write((session) => renewLease(session, run)),
    recallWindows: (run) => database.read((session) => recallWindows(session, run)),
  }
}
