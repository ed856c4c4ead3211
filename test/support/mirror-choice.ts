import { env } from 'node:process'

/** The user to whom the server of the tests gives the mirrors. */
export const POSTGRES_USER = 'mirror'

/** Whether the mirrors of the tests are in PostgreSQL: `CUSTOMER_MIRROR_TEST_MIRROR=postgres`. They are files of SQLite otherwise. */
export const onPostgres = env['CUSTOMER_MIRROR_TEST_MIRROR'] === 'postgres'

/** What only a file of SQLite has. `test.skipIf(sqliteAlone.…)` skips and counts its tests where the mirrors are in PostgreSQL. */
export const sqliteAlone = {
  /** Readers keep the bytes of deleted rows in the file, which is written anew without them. */
  bytesOfTheFile: onPostgres,
  /** Its statements can be watched from within the process, and a test opens the file itself. */
  driver: onPostgres,
  /** A column takes whatever is written by hand. */
  looseTypes: onPostgres,
  /** A reader keeps the WAL from being emptied. */
  wal: onPostgres,
}
