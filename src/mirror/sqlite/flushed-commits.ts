import type { Connection } from './opening/database.ts'
import { withSetting } from './opening/with-setting.ts'

/**
 * Runs `work`, each of whose commits returns once the WAL is on the disk: a run that was reported is not undone by a loss of power, and the
 * numbers of its changes are not given out again. It makes its own transactions: within one, this setting cannot be changed.
 */
export function withFlushedCommits<Result>(db: Connection, work: () => Result): Result {
  return withSetting(db, { during: 'synchronous = FULL', after: 'synchronous = NORMAL' }, work)
}
