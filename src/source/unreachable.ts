import { SourceUnavailable, UsageError } from '../errors.ts'

/** What a request that got no answer means, with the original error as its cause. */
export function unreachable(
  error: unknown,
  { place, timedOutAfterMs }: { place: string; timedOutAfterMs: number | undefined },
): SourceUnavailable | UsageError {
  const codes = codesOf(error)
  const has = (...known: string[]): boolean => known.some((code) => codes.includes(code))
  const fail = (code: 'network' | 'tls' | 'timeout', what: string): SourceUnavailable =>
    new SourceUnavailable(`${place}: ${what}`, { code }, { cause: error })

  if (timedOutAfterMs !== undefined) {
    return fail(
      'timeout',
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
  if (codes.some((code) => TLS.test(code))) {
    return fail(
      'tls',
      `no trusted TLS connection (${codes.find((code) => TLS.test(code))}). Check the host and its certificate.`,
    )
  }
  if (has('UND_ERR_CONNECT_TIMEOUT', 'ETIMEDOUT')) return fail('timeout', 'could not connect in time. Ask again later.')
  if (has('ENOTFOUND')) return fail('network', 'the host is not known. Check baseUrl and the name service.')
  if (has('EAI_AGAIN')) return fail('network', 'the name service does not answer. Ask again later.')
  if (has('ECONNREFUSED'))
    return fail('network', 'the connection was refused. Check that the service is running there.')
  return fail('network', `the connection broke before the answer was complete${named(codes)}. Ask again later.`)
}

const TLS = /^(CERT_|ERR_TLS_|ERR_SSL_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|HOSTNAME_MISMATCH|EPROTO$)/

function named(codes: readonly string[]): string {
  return codes[0] === undefined ? '' : ` (${codes[0]})`
}

/** The codes of an error, of the errors it aggregates, and of its causes. */
function codesOf(error: unknown, depth = 0): string[] {
  if (!(error instanceof Error) || depth > 4) return []
  const own = 'code' in error && typeof error.code === 'string' ? [error.code] : []
  const gathered = error instanceof AggregateError ? error.errors : []
  return [...own, ...[...gathered, error.cause].flatMap((inner) => codesOf(inner, depth + 1))]
}
