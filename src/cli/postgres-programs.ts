import { isPostgres } from '../address/mirror-address.ts'
import { DEFAULT_SCHEMA, parsePostgresAddress } from '../address/postgres-address.ts'
import { shellWord } from './output/say.ts'
import { UsageError } from '../errors/errors.ts'

/** Throws UsageError for a mirror in PostgreSQL, with the command of PostgreSQL that makes a backup of its schema into the file. */
export function refuseBackup(mirror: string, file: string): void {
  if (!isPostgres(mirror)) return
  const { address, schema } = partsOf(mirror)
  throw new UsageError(
    'The mirror is in PostgreSQL, whose own program makes a backup of it while runs go on: ' +
      `pg_dump --format=custom --schema=${schema} --file=${shellWord(file)} ${shellWord(address)}`,
  )
}

/**
 * Throws UsageError for a mirror in PostgreSQL, with the commands of PostgreSQL that put such a backup in its place. All of the backup is read
 * before anything is changed, and then all is changed or nothing; the mirror from before stays under another name, and is dropped last.
 */
export function refuseRestore(mirror: string, file: string): void {
  if (!isPostgres(mirror)) return
  const { address, schema } = partsOf(mirror)
  const script = shellWord(`${file}.sql`)
  const before = `${schema.slice(0, LONGEST_NAME - '_before'.length)}_before`
  const aside = `DO $$BEGIN ALTER SCHEMA "${schema}" RENAME TO "${before}"; EXCEPTION WHEN invalid_schema_name THEN NULL; END$$`
  throw new UsageError(
    'The mirror is in PostgreSQL, whose own programs put a backup in its place, once the worker is stopped, as a user with CREATE on the database: ' +
      `pg_restore --file=${script} ${shellWord(file)} && ` +
      `psql --no-psqlrc --quiet --output=/dev/null --single-transaction --set=ON_ERROR_STOP=1 --command=${shellWord(aside)} --file=${script} ` +
      `--command=${shellWord(`SELECT version FROM "${schema}".mirror_schema`)} --command=${shellWord(passLostNumbers(schema))} ` +
      `${shellWord(address)} && rm ${script}\n` +
      `The mirror from before is the schema ${before} then. Drop it once the one put back is right: ` +
      `psql --no-psqlrc --command=${shellWord(`DROP SCHEMA "${before}" CASCADE`)} ${shellWord(address)}`,
  )
}

/**
 * Numbers of changes and runs go on from the time, as in a file whose successor is lost: readers and copies remember those that the mirror
 * gave out after the backup.
 */
function passLostNumbers(schema: string): string {
  const goOn = (table: string, column: string, unit: string) => {
    const sequence = `pg_get_serial_sequence($$"${schema}".${table}$$, $$${column}$$)`
    return `SELECT setval(${sequence}, greatest(nextval(${sequence}), (extract(epoch FROM now())${unit})::bigint)) AS seq`
  }
  return (
    `${goOn('runs', 'id', '')}; WITH reached AS (${goOn('changes', 'seq', ' * 1000')}) ` +
    `INSERT INTO "${schema}".horizons (organization, feed_seq) SELECT DISTINCT organization, seq FROM "${schema}".runs, reached ` +
    'ON CONFLICT (organization) DO UPDATE SET feed_seq = excluded.feed_seq'
  )
}

/** The bytes of a name in PostgreSQL. */
const LONGEST_NAME = 63

/** The schema, and the address as programs of PostgreSQL read it, without a password. */
function partsOf(mirror: string): { address: string; schema: string } {
  const url = new URL(mirror)
  const schema = url.searchParams.get('schema') ?? DEFAULT_SCHEMA
  url.searchParams.delete('schema')
  // They would go on without TLS where the server offers none.
  const mode = tlsModeOf(mirror)
  if (mode !== 'disable') url.searchParams.set('sslmode', mode)
  url.password = ''
  // Those programs do not read + as a space.
  url.search = url.search.replaceAll('+', '%20')
  return { address: url.href, schema }
}

function tlsModeOf(mirror: string): string {
  const parsed = parsePostgresAddress(mirror)
  return 'address' in parsed ? parsed.address.tls.mode : 'require'
}
