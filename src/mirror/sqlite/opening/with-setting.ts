import type Database from 'better-sqlite3'

/** A setting of a connection while work runs, and after it, each as a pragma: `synchronous = FULL`. */
type Setting = { during: string; after: string }

/** Runs `work` with another setting, which ends with it, whatever becomes of it. */
export function withSetting<Result>(db: Database.Database, { during, after }: Setting, work: () => Result): Result {
  db.pragma(during)
  try {
    return work()
  } finally {
    db.pragma(after)
  }
}
