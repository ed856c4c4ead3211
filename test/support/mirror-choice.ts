import { env } from 'node:process'

export const POSTGRES_USER = 'mirror'

/** Whether the mirrors of the tests are in PostgreSQL: `CUSTOMER_MIRROR_TEST_MIRROR=postgres`. They are files of SQLite otherwise. */
export const onPostgres = env['CUSTOMER_MIRROR_TEST_MIRROR'] === 'postgres'

/** The tests that run there: those of what a mirror keeps, in a deep run those of all runs too. What commands show is tested with SQLite. */
export function testsOfThisMirror({ isDeep, isServer = onPostgres }: { isDeep: boolean; isServer?: boolean }) {
  if (!isServer) return ['test/**/*.test.ts']
  return [...OF_THE_STORE, ...(isDeep ? OF_RUNS : [])].map((name) => `test/${name}.test.ts`)
}

const OF_THE_STORE = [
  ...['store/**/*', 'library', 'sync/mirror-organization*', 'simulation/*'],
  ...['sync/unread-list', 'serve/*'],
]

const OF_RUNS = [...['sync/*', 'quick/quick-run*', 'forgotten-customers*', 'privacy'], ...['scan-on-the-service*']]

/**
 * Tests of what only a file of SQLite has, and those that bring a PostgreSQL of their own. Answers that are lost are tested at length: in the
 * run on PostgreSQL, in a deep run, and where it is asked for by name.
 */
export function notOnThisMirror({ isDeep, args }: { isDeep: boolean; args: readonly string[] }): string[] {
  if (onPostgres)
    return ['test/store/sqlite/**', 'test/store/move-mirror.test.ts', 'test/store/postgres/!(lost-answers).test.ts']
  return isDeep || args.some((arg) => arg.includes('store/postgres'))
    ? []
    : ['test/store/postgres/lost-answers.test.ts']
}

/** What only SQLite has. `test.skipIf(sqliteAlone.…)` skips and counts its tests where the mirrors are in PostgreSQL. */
export const sqliteAlone = {
  /** What is deleted stays in the bytes of the file until it is written anew, for which readers are in the way. */
  bytesOfTheFile: onPostgres,
  /** A column takes whatever is written by hand. */
  looseTypes: onPostgres,
  /** A published copy is a file beside the mirror. */
  readersOfTheFile: onPostgres,
  /** REPLACE fires no trigger for the row that it deletes; PostgreSQL has no such statement. */
  unseenReplace: onPostgres,
  /** A reader keeps the WAL from being emptied. */
  wal: onPostgres,
}
