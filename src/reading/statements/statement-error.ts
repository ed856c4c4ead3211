import Database from 'better-sqlite3'
import { UsageError } from '../../errors/errors.ts'
import { NO_STATEMENT } from './readable-statement.ts'
import { noRoomFor, SEVERAL } from '../../errors/faults.ts'
import { sqliteError } from '../../store/port/sqlite-errors.ts'

/** What went wrong with a statement on the file: UsageError for a mistake in it, MirrorUnusable for the file. */
export function statementError(error: unknown, file: string): unknown {
  if (error instanceof Database.SqliteError) return ofSqlite(error, file)
  if (!(error instanceof Error)) return error
  if (/more than one statement/.test(error.message)) return new UsageError(SEVERAL)
  if (/contains no statements/.test(error.message)) return new UsageError(NO_STATEMENT)
  if (/string length|string longer/i.test(error.message))
    return new UsageError('A value is longer than can be printed. Ask for a part of it, with substr(value, 1, 1000).')
  if (/parameter/i.test(error.message))
    return new UsageError('The statement has parameters (?, :name, @name or $name). Write their values into it.')
  return error
}

function ofSqlite(error: InstanceType<typeof Database.SqliteError>, file: string): unknown {
  if (MISTAKES.test(error.code)) return new UsageError(`The statement failed: ${error.message}`)
  if (/^SQLITE_(FULL|NOMEM)/.test(error.code)) return new UsageError(noRoomFor(error.message))
  return sqliteError(error, file)
}

/** What SQLite says of the statement, and not of the file. */
const MISTAKES = /^SQLITE_(ERROR|MISMATCH|TOOBIG|RANGE|CONSTRAINT|MISUSE|AUTH)/
