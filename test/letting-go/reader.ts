import Database from 'better-sqlite3'
import type { Row } from '../support/mirror-file.ts'

/** A connection of another program, which only reads. */
export type Reader = Database.Database

export function rows(db: Reader, sql: string, ...parameters: unknown[]): Row[] {
  return db.prepare<unknown[], Row>(sql).all(...parameters)
}

/** Reads the mirror at `file` with one connection. */
export function reading<Result>(file: string, work: (db: Reader) => Result): Result {
  const db = new Database(file, { readonly: true, fileMustExist: true })
  try {
    return work(db)
  } finally {
    db.close()
  }
}
