import { withReader } from '../support/mirror-file.ts'
import type { Reader, Row } from '../support/mirror-reader.ts'

export type { Reader }

export function rows(db: Reader, sql: string, ...parameters: unknown[]): Row[] {
  return db.all(sql, ...parameters)
}

/** Reads the mirror at `file` with one connection. */
export function reading<Result>(file: string, work: (db: Reader) => Result): Result {
  return withReader(file, work)
}
