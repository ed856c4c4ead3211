import { env } from 'node:process'

/** The user to whom the server of the tests gives the mirrors. */
export const POSTGRES_USER = 'mirror'

/** Whether the mirrors of the tests are in PostgreSQL: `CUSTOMER_MIRROR_TEST_MIRROR=postgres`. They are files of SQLite otherwise. */
export const onPostgres = env['CUSTOMER_MIRROR_TEST_MIRROR'] === 'postgres'
