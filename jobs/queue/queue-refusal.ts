import { isOurs, QueueUnavailable } from '../../src/errors/errors.ts'
import { codeOf, connectionsTaken, tlsFailure, type TlsFailure } from '../../src/errors/faults.ts'

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
  const what = reasonOf(error)
  const { what: reason, fix } = untrusted(error) ?? { what, fix: `${REMEDY} ${connectionsTaken(what, 10)}`.trimEnd() }
  return new QueueUnavailable(
    `The queue at ${place} cannot be used: ${reason}. ${fix} 'customer-mirror sync' needs no queue.`,
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

/** What the server says is quoted; one sentence for all of it follows. */
const REMEDY =
  'Start that server, or repair there what it says; or correct its address, with user, password and TLS (rediss://, sslmode): queue in the ' +
  'configuration, or CUSTOMER_MIRROR_QUEUE. It has to be one server and no Sentinel, or a cluster with a hash tag as prefix (?prefix={name}); its ' +
  'user needs all rights to the keys or the schema of the queue; ?prefix= keeps it apart from other programs.'

const DEFECTS = [TypeError, RangeError, ReferenceError, SyntaxError]
