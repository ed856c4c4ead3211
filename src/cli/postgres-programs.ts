import { UsageError } from '../errors.ts'
import { isPostgres } from '../mirror-address.ts'
import { DEFAULT_SCHEMA, parsePostgresAddress } from '../postgres-address.ts'
import { shellWord } from './output/shell-word.ts'

/** Throws UsageError for a mirror in PostgreSQL, with the command of PostgreSQL that makes a backup of its schema into the file. */
export function refuseBackup(mirror: string, file: string): void {
  if (!isPostgres(mirror)) return
  const { address, schema } = partsOf(mirror)
  throw new UsageError(
    'The mirror is in PostgreSQL, whose own program makes a backup of it while runs go on: ' +
      `pg_dump --format=custom --schema=${schema} --file=${shellWord(file)} ${shellWord(address)}`,
  )
}

/** Throws UsageError for a mirror in PostgreSQL, with the command of PostgreSQL that puts such a backup in its place. */
export function refuseRestore(mirror: string, file: string): void {
  if (!isPostgres(mirror)) return
  const { address } = partsOf(mirror)
  throw new UsageError(
    'The mirror is in PostgreSQL, whose own program puts a backup in its place, once the worker is stopped, as a user with CREATE on the database: ' +
      `pg_restore --clean --if-exists --single-transaction --dbname=${shellWord(address)} ${shellWord(file)}`,
  )
}

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
