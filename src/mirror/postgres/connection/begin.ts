import { quoted } from '../../sql/quoted.ts'

/**
 * The statements that begin a transaction, in one round trip. Names mean what they do in PostgreSQL and in the schema of the mirror,
 * whatever the role or the database sets: in another search path a role that may create there could have its own functions run. For this
 * transaction only: through a pooler the next one may come over another connection, and this one be another program's. `settings` come
 * after.
 */
export function beginning(mode: string, schema: string, settings: readonly string[] = []): string {
  return [
    `BEGIN ${mode}`,
    `SET LOCAL search_path = ${quoted(schema)}, pg_temp`,
    `SET LOCAL timezone = 'UTC'`,
    `SET LOCAL datestyle = 'ISO, YMD'`,
    `SET LOCAL bytea_output = 'hex'`,
    `SET LOCAL lock_timeout = '15s'`,
    // A transaction may be as long as its statements; PostgreSQL has it from 17 on.
    `SELECT set_config('transaction_timeout', '0', true) WHERE current_setting('server_version_num')::int >= 170000`,
    ...settings,
  ].join('; ')
}
