import { rowsOf } from './mirror-file.ts'

/** The names of the indexes in a file. */
export const indexesOf = (file: string) =>
  rowsOf(file, `SELECT name FROM sqlite_schema WHERE name IN ('customers_by_email', 'customers_by_update')`)
