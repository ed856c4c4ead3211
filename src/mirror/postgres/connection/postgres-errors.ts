import { isOurs, MirrorUnusable } from '../../../errors/errors.ts'
import { tlsFailure } from '../../../errors/tls-failure.ts'
import { failedFunction } from '../opening/added-functions.ts'
import { AGAIN, FULL, SAID, type Meaning } from './said-by-server.ts'
import { violation } from './violations.ts'

/** What SQLSTATEs and the codes of the system mean for the mirror, each with its fix. The first that fits holds. */
const MEANINGS: Meaning[] = [
  [/^53100$|^ENOSPC$/, 'full', FULL],
  [
    /^53300$/,
    'unreachable',
    `the server has no connection left (max_connections, or the limit of this user). ${AGAIN}`,
  ],
  [/^53/, 'unreachable', `the server has run out of memory or of another resource; its log says which. ${AGAIN}`],
  [/^57P03$/, 'unreachable', `the server is starting up, or shutting down. ${AGAIN}`],
  [/^57P0|^25P0[34]$/, 'unreachable', `the server ended the connection. ${AGAIN}`],
  [/^08/, 'unreachable', `the connection to the server broke. ${AGAIN}`],
  [/^ECONNREFUSED$/, 'unreachable', 'no server answers there. Start it, or correct host and port.'],
  [
    /^(ENOTFOUND|EAI_AGAIN|EAI_NODATA)$/,
    'unreachable',
    'the name of the host is not known. Correct it, or check the network.',
  ],
  [
    /^(ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|EHOSTDOWN|ENETDOWN)$/,
    'unreachable',
    'the server does not answer. Check host and port, the network, and any firewall.',
  ],
  [/^(ECONNRESET|EPIPE|ECONNABORTED)$/, 'unreachable', `the connection to the server broke. ${AGAIN}`],
  [
    /^(ENOENT|EACCES|EPERM)$/,
    'unreadable',
    'the socket of the server cannot be opened. Check its folder, and that this user may use it.',
  ],
  [
    /^28P01$/,
    'unreadable',
    'the server refused the user or the password. Check the user, and the password in CUSTOMER_MIRROR_MIRROR, PGPASSWORD or ~/.pgpass.',
  ],
  [
    /^28/,
    'unreadable',
    'the server does not let this user in from this machine (pg_hba.conf). Ask its administrator, or check the user and sslmode.',
  ],
  [/^3D000$/, 'unreadable', 'there is no such database. Create it with createdb, or correct its name.'],
  [
    /^42501$/,
    'unreadable',
    'this user has no right to do that there. Let it own the schema, or GRANT it CREATE on the database; to read, USAGE on the schema and SELECT on its tables.',
  ],
  [
    /^25006$/,
    'read-only',
    'the server accepts no writes: it is a standby, or read-only by its settings. Name the primary server as mirror, or make this one writable.',
  ],
  [
    /^54000$/,
    'foreign',
    'a value is too long for an index that someone added to a table of the mirror. Drop that index, or make it on left(column, 500).',
  ],
  [/^55P03$/, 'locked', 'rows or tables are locked by another program. Close it, or try again when it is done.'],
  [
    /^57014$/,
    'locked',
    'the server ended a statement that took too long. Try again; if it happens often, look for what keeps the server busy.',
  ],
  [
    /^40/,
    'locked',
    'other programs change the same rows again and again. Close them, or try again when they are done.',
  ],
  [
    /^(42P01|3F000)$/,
    'replaced',
    'tables or views of the mirror were dropped or moved, perhaps while it was open, so what a run wrote to them is not there. Sync again: the whole schema is made anew; where only some of it is missing, put back a backup. Next time stop everything that writes to the mirror first.',
  ],
  [
    /^(42P07|42710|42723)$/,
    'foreign',
    'holds a table, view or function that someone added, and this version needs that name. The mirror was left as it is: rename or drop what was added, and try again.',
  ],
  [
    /^42703$/,
    'foreign',
    'a column of a table or view of the mirror was renamed or dropped. Nothing of this step was kept: give it its name back, or put back a backup.',
  ],
  [
    /^22/,
    'foreign',
    'a value does not fit there: into a generated column, an index on an expression, a constraint or another type of a column that someone gave a table of the mirror. Nothing of this step was kept: drop it, then try again. Where nothing was added, please report it.',
  ],
  [
    /^P0/,
    'foreign',
    'a trigger or a function that someone added to the mirror refused this. Nothing of this step was kept; the log of the server says why.',
  ],
  [
    /^XX00[12]$|^58P01$/,
    'corrupt',
    'the server reports damaged data. Put back a backup of the database, or name another schema and sync anew.',
  ],
  [/^XX/, 'unreadable', 'the server failed in itself. Its log says why: repair that, then run the command again.'],
  [
    /^58/,
    'unreadable',
    'the disk of the server failed while it was read or written. Check it, then run the command again.',
  ],
  [
    /^ERR_TLS_CERT_ALTNAME_INVALID$/,
    'unreadable',
    'the certificate of the server is for another host name. Name the host as its certificate does, or use sslmode=verify-ca, which does not compare names.',
  ],
  [
    /^(CERT_(?!HAS_EXPIRED|NOT_YET_VALID)|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO)/,
    'unreadable',
    'the certificate of the server is not signed by an authority that is trusted here. Name the file of the right one with sslrootcert=<file>; sslmode=require without it accepts any certificate.',
  ],
]

/** The same for errors of the driver, which have no code. */
const SENTENCES: Meaning[] = [
  [
    /does not support SSL/,
    'unreadable',
    'the server offers no TLS. Turn it on there, or use sslmode=disable on a network that you trust.',
  ],
  [
    /password must be a/,
    'unreadable',
    'the server asks for a password. Give it in CUSTOMER_MIRROR_MIRROR, PGPASSWORD or ~/.pgpass.',
  ],
  [/sslnegotiation/, 'unreadable', 'PGSSLNEGOTIATION is neither postgres nor direct with TLS. Unset or correct it.'],
  [
    /^(timeout expired|timeout exceeded|Query read timeout)/,
    'unreachable',
    `the server does not answer in time. ${AGAIN}`,
  ],
  [
    /^(Connection terminated|Client has encountered|Client was closed|There was an error establishing an SSL)/,
    'unreachable',
    `the connection to the server broke. ${AGAIN}`,
  ],
]

/** A failure of PostgreSQL or of the connection to it as MirrorUnusable, at the shown `address`; never with values of rows. */
export function postgresError(error: unknown, address: string): unknown {
  const { code, message } = partsOf(error)
  if (isOurs(error) || message === undefined) return error
  const violated = violation(error) ?? failedFunction(error)
  if (violated !== undefined) return new MirrorUnusable(`${address}: ${violated} (${code})`, { code: 'foreign' })
  const meaning =
    code === undefined
      ? SENTENCES.find(([pattern]) => pattern.test(message))
      : (SAID.find(([pattern]) => pattern.test(`${code}: ${message}`)) ??
        MEANINGS.find(([pattern]) => pattern.test(code)) ??
        untrusted(code, message))
  // The cause is dropped, since the driver keeps parameters and passwords in it.
  if (meaning !== undefined) {
    const said = code === undefined ? '' : `${isNamed(code) ? ` The server says: ${message}.` : ''} (${code})`
    return new MirrorUnusable(`${address}: ${meaning[2]}${said}`, { code: meaning[1] })
  }
  return code !== undefined && isSqlState(code) ? refusedStatement(message, code) : error
}

/** The ways of TLS to fail for which the address has no setting. */
function untrusted(code: string, message: string): Meaning | undefined {
  const failure = tlsFailure(code, message)
  return failure && [/^/, 'unreadable', `${failure.what}. ${failure.fix}`]
}

/** Whether the connection is gone, so that nothing is known of a statement that was not answered. */
export function isLost(error: unknown): boolean {
  const { code, message = '' } = partsOf(error)
  if (code === undefined) return /^(timeout ex|Query read timeout|Connection terminated|Client )/.test(message)
  return /^(57P0[1-5]|08|25P0[34])/.test(code) || !isSqlState(code)
}

/** The code of an error after which a transaction is repeated. */
export const SERIALIZATION_FAILURE = '40001'

/** Whether the same transaction is likely to succeed when it is simply begun again. */
export function isCollision(error: unknown): boolean {
  return /^(40001|40P01)$/.test(partsOf(error).code ?? '')
}

/** Whether a value does not fit into an index: at most about 2,700 bytes do. */
export function isTooLongToIndex(error: unknown): boolean {
  return partsOf(error).code === '54000'
}

/** Node names every address it tried in one error. */
function partsOf(error: unknown): { code?: string; message?: string } {
  if (!(error instanceof Error)) return {}
  const first: unknown = error instanceof AggregateError ? error.errors[0] : error
  const said = first instanceof Error ? first : error
  const code = 'code' in said && typeof said.code === 'string' ? said.code : undefined
  return code === undefined ? { message: said.message } : { code, message: said.message }
}

function isSqlState(code: string): boolean {
  return /^[0-9A-Z]{5}$/.test(code) && !/^E[A-Z]{4}$/.test(code)
}

/**
 * Whether it names what this user has no right to, a column that is not there, a table with a rule or a publication, or what a pooler
 * refuses: nothing that stands in a row.
 */
function isNamed(code: string): boolean {
  return /^(42501|42703|0A000|08P01|55000)$/.test(code)
}

/** A defect of this program. Only sentences about names are quoted: others quote values of rows. */
function refusedStatement(message: string, code: string): Error {
  return new Error(`PostgreSQL refused a statement (${code}${code.startsWith('42') ? `: ${message}` : ''})`)
}
