import { SourceUnavailable, UsageError } from '../../errors/errors.ts'
import { tlsFailure } from '../../errors/faults.ts'

/** What a request that got no answer means, with the original error as its cause. */
export function unreachable(
  error: unknown,
  { place, timedOutAfterMs }: { place: string; timedOutAfterMs: number | undefined },
): SourceUnavailable | UsageError {
  const errors = errorsIn(error)
  const codes = errors.flatMap(({ code }) => (typeof code === 'string' ? [code] : []))
  const has = (...known: string[]): boolean => known.some((code) => codes.includes(code))
  const fail = (code: 'network' | 'tls', what: string): SourceUnavailable =>
    new SourceUnavailable(`${place}: ${what}`, { code }, { cause: error })

  if (timedOutAfterMs !== undefined) {
    return fail(
      'network',
      `no complete answer within ${timedOutAfterMs / 1000} s. Ask again later, or raise requestTimeout.`,
    )
  }
  if (has('UND_ERR_INVALID_ARG')) {
    return new UsageError(
      `${place}: a header cannot be sent. Check the API key for line breaks and letters outside ASCII.`,
    )
  }
  if (has('ERR_SSL_WRONG_VERSION_NUMBER', 'ERR_SSL_PACKET_LENGTH_TOO_LONG', 'ERR_SSL_HTTP_REQUEST')) {
    return fail(
      'tls',
      'this port answers without TLS, as a plain http port does. Check the port in baseUrl; https has one of its own, usually 443.',
    )
  }
  const untrusted = untrustedWords(errors)
  if (untrusted !== undefined) return fail('tls', untrusted)
  if (has('UND_ERR_CONNECT_TIMEOUT', 'ETIMEDOUT')) return fail('network', 'could not connect in time. Ask again later.')
  if (has('ENOTFOUND')) return fail('network', 'the host is not known. Check baseUrl and the name service.')
  if (has('EAI_AGAIN')) return fail('network', 'the name service does not answer. Ask again later.')
  if (has('ECONNREFUSED'))
    return fail('network', 'the connection was refused. Check that the service is running there.')
  if (has('EMFILE', 'ENFILE')) return fail('network', NO_MORE_FILES)
  const flaw = flawOfAnswer(errors, codes)
  if (flaw !== undefined) return fail('network', flaw)
  return fail('network', `the connection broke before the answer was complete${named(codes)}. Ask again later.`)
}

const NO_MORE_FILES =
  'this machine lets the program open no more files and connections. Raise the limit (ulimit -n, LimitNOFILE of a systemd unit), ' +
  'or lower concurrency or jobs.concurrency.'

/** What keeps TLS from being trusted or spoken; undefined where something else failed. */
function untrustedWords(errors: readonly Coded[]): string | undefined {
  for (const { code, message } of errors) {
    const failure = typeof code === 'string' ? tlsFailure(code, message) : undefined
    if (failure !== undefined) return `${failure.what} (${String(code)}). ${failure.fix}`
  }
  return undefined
}

function named(codes: readonly string[]): string {
  return codes[0] === undefined ? '' : ` (${codes[0]})`
}

/** What is wrong with an answer that came and could not be read as HTTP; undefined where the connection failed. */
function flawOfAnswer(errors: readonly Coded[], codes: readonly string[]): string | undefined {
  if (codes.includes('UND_ERR_HEADERS_OVERFLOW')) {
    return `the headers of the answer are larger than Node reads, 16 KiB by default (UND_ERR_HEADERS_OVERFLOW). ${LOOK}`
  }
  if (codes.includes('UND_ERR_RES_CONTENT_LENGTH_MISMATCH')) {
    return (
      'the answer does not fit its Content-Length (UND_ERR_RES_CONTENT_LENGTH_MISMATCH): it is not valid HTTP, or the ' +
      `connection broke. Ask again later. ${LOOK}`
    )
  }
  const unasked = errors.map(({ message }) => UNASKED.get(message)).find((found) => found !== undefined)
  if (unasked !== undefined)
    return `the answer began with ${unasked}, which was not asked for: usually a proxy in between sends it. ${LOOK}`
  const invalid = invalidity(errors, codes)
  return invalid === undefined ? undefined : `the answer is not valid HTTP (${invalid}). ${LOOK}`
}

const LOOK = 'Check the address and the port in baseUrl, and any proxy in between.'

/** undici ends the connection at these, at 100 too, after which a client should read on (RFC 9110, 15.2.1). Only its message names them. */
const UNASKED: ReadonlyMap<string, string> = new Map([
  ['bad response', '100 Continue'],
  ['bad upgrade', '101 Switching Protocols'],
])

/** The code for what is not HTTP, or the fixed words of the parser, which often gives no code. */
function invalidity(errors: readonly Coded[], codes: readonly string[]): string | undefined {
  const parsing = errors.find(({ name }) => name === 'HTTPParserError')
  const reason = /\(([^)]+)\)$/.exec(parsing?.message ?? '')?.[1]
  // The end of a connection, in the middle of an answer.
  if (reason === 'Invalid EOF state') return undefined
  return codes.find((code) => /^(HPE_|ERR_ASSERTION$)/.test(code)) ?? reason ?? parsing?.name
}

type Coded = Error & { code?: unknown }

/** An error, the errors it aggregates, and its causes. */
function errorsIn(error: unknown, depth = 0): Coded[] {
  if (!(error instanceof Error) || depth > 4) return []
  const gathered = error instanceof AggregateError ? error.errors : []
  return [error, ...[...gathered, error.cause].flatMap((inner) => errorsIn(inner, depth + 1))]
}
