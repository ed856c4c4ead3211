import type { Connection } from './database.ts'
import { withSetting } from './with-setting.ts'

/**
 * Runs `work` without a look at whether each row refers to one that is there. It makes its own transactions: within one, this setting cannot
 * be changed.
 */
export function withoutForeignKeys<Result>(db: Connection, work: () => Result): Result {
  return withSetting(db, { during: 'foreign_keys = OFF', after: 'foreign_keys = ON' }, work)
}
