import type { Connection } from './database.ts'

/**
 * Runs `work` without a look at whether each row refers to one that is there. It makes its own transactions: within one, this setting cannot
 * be changed.
 */
export function withoutForeignKeys<Result>(db: Connection, work: () => Result): Result {
  db.pragma('foreign_keys = OFF')
  try {
    return work()
  } finally {
    db.pragma('foreign_keys = ON')
  }
}
