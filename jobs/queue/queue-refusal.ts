import { isOurs, QueueUnavailable } from '../../src/errors/errors.ts'
import { codeOf, tlsFailure, type TlsFailure } from '../../src/errors/faults.ts'

/**
 * An error of the queue as QueueUnavailable, with the queue, the reason and the fix. Our own errors and defects of this program
 * are returned unchanged. The cause is dropped, because drivers keep commands and passwords in it.
 */
export function queueUnavailable(error: unknown, place: string): unknown {
  return DEFECTS.some((kind) => error instanceof kind) ? error : neverOpened(error, place)
}

/** An error from opening the queue, whatever its kind: drivers throw any error for an address they cannot parse. */
export function neverOpened(error: unknown, place: string): unknown {
  if (isOurs(error)) return error
  const reason = reasonOf(error)
  const { what, fix } = untrusted(error) ?? { what: reason, fix: remedyOf(reason, place) }
  return new QueueUnavailable(
    `The queue at ${place} cannot be used: ${what}. ${fix} 'customer-mirror sync' needs no queue.`,
  )
}

function untrusted(error: unknown): TlsFailure | undefined {
  const first = firstOf(error)
  return first instanceof Error ? tlsFailure(codeOf(first) ?? '', first.message) : undefined
}

/** The reason of an error in one line, without arguments and passwords. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'it failed'
  const first = firstOf(error)
  const code = codeOf(first)
  const line = first instanceof Error ? firstLine(first.message) : ''
  return line === '' ? (code ?? 'it failed') : line
}

/** Node names every address that it tried in one error. */
function firstOf(error: unknown): unknown {
  return error instanceof AggregateError ? error.errors[0] : error
}

/** Whether an error says that the queue answered and refused, rather than that it could not be reached. */
export function isRefusal(error: unknown): boolean {
  return !/ECONN|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN|57P0|Connection (is closed|terminated)|LOADING|timeout exceeded|Query read timeout|Socket timeout|starting up|shutting down/i.test(
    codeAndReason(error),
  )
}

/** `code: reason`, for a log. */
export function codeAndReason(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown'
  const code = 'code' in error && typeof error.code === 'string' ? error.code : error.name
  return `${code}: ${reasonOf(error).slice(0, 200)}`
}

/**
 * The first line, without the digest that a script of the queue adds, without the arguments of a command that Redis does not know (those of
 * AUTH are a user and a password), and without a password in an address. Where a password is missing, the driver of PostgreSQL names a step
 * of its protocol.
 */
function firstLine(message: string): string {
  if (/^SASL: .*password must be/.test(message)) return 'it asks for a password'
  return (message.split('\n')[0] ?? '')
    .replace(/\.? script: [0-9a-f]{40}.*$/, '')
    .replace(/,? with args beginning with:.*$/i, '')
    .replaceAll(/\/\/[^/\s@]*@/g, '//')
    .replace(/[.\s]+$/, '')
}

function remedyOf(reason: string, place: string): string {
  // A server without TLS takes the beginning of a TLS connection for half a command, and waits for the rest.
  if (place.startsWith('rediss:') && reason.startsWith('no answer within')) return NO_TLS
  return REMEDIES.find(([pattern]) => pattern.test(reason))?.[1] ?? `Start it, or ${CORRECT_IT}`
}

const CORRECT_IT = 'correct its address: queue in the configuration, or CUSTOMER_MIRROR_QUEUE.'

const NO_TLS =
  'It may offer no TLS: turn it on there (tls-port), or name it with redis:// if the way to it is safe without. Otherwise start it.'

const REMEDIES: readonly [pattern: RegExp, remedy: string][] = [
  [/^OOM|maxmemory/, 'It is full: raise its maxmemory, or free some of it, then try again.'],
  [
    /READONLY|read-only|recovery/i,
    'It refuses writes: name the primary server as queue, or make this one writable again.',
  ],
  [/^BUSY\b/, 'A script of another program keeps it busy: wait, or end that script (SCRIPT KILL).'],
  [/^LOADING\b/, 'It reads its data from the disk: wait until it has, then try again.'],
  [/^DENIED\b/, 'It is in protected mode: give its default user a password, and add that to the address.'],
  [/max number of clients/, 'Raise its maxclients, or end some of its clients.'],
  [
    /EPIPE|ECONNRESET|RESP type/,
    'It ends the connection at once: it may want TLS (rediss://), or a certificate of its clients, which this program cannot show (tls-auth-clients no); accept no more clients; or be another kind of server.',
  ],
  [/MISCONF|NOREPLICAS|MASTERDOWN|disk|No space/i, 'Repair that server (see its log), then try again.'],
  [
    /does not support SSL/,
    'It offers no TLS: turn it on there, or add sslmode=disable to the address if the way to it is safe without.',
  ],
  [/sslnegotiation/, 'Unset or correct the environment variable PGSSLNEGOTIATION.'],
  [
    /\(transaction mode\)|statement pooling mode/,
    'The queue keeps settings in a connection, and listens on it: have the pooler use session mode for it (pool_mode = session), or name the server itself.',
  ],
  [
    /too many (?:clients|connections)|connection slots|no more connections/,
    'A worker takes up to ten connections: allow more (max_connections, or the limit of the user or the database), or end others.',
  ],
  [
    /query_wait_timeout|: it accepts connections, and|: the pooler there/,
    `Where a pooler is in front of it, let that have more connections to the server (pool_size): a worker takes up to ten. Otherwise see why the server hangs, or ${CORRECT_IT}`,
  ],
  [
    /has no equivalent in encoding|stores text as/,
    "Its database cannot hold every text: name one that was created with ENCODING 'UTF8'.",
  ],
  [/"replication"|WAL sender|replication connection/, 'Unset the environment variable PGREPLICATION.'],
  [
    /invalid command-line argument|unrecognized configuration parameter|startup parameter: options/,
    'Unset or correct the environment variable PGOPTIONS.',
  ],
  [/CROSSSLOT|MOVED|CLUSTERDOWN/, 'It is a cluster, over which no queue can be spread: name a single server as queue.'],
  [
    /WRONGTYPE/,
    'Another program uses the keys of this queue: give it a name of its own with ?prefix= at the end of the address.',
  ],
  [
    /unknown (redis )?(sub)?command/i,
    'That command is disabled there, or renamed: allow it (rename-command in redis.conf), or name another server as queue. A Sentinel holds no queue: name the server that it watches.',
  ],
  [
    /NOAUTH|WRONGPASS|NOPERM|password|permission|user executing the script/i,
    'Correct its user and password, or the permissions of that user.',
  ],
]

const DEFECTS = [TypeError, RangeError, ReferenceError, SyntaxError]
