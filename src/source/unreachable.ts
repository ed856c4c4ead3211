import { SourceUnavailable, UsageError } from '../errors/errors.ts'
import { tlsFailure } from '../errors/faults.ts'

/** No complete answer came within the time. */
export class TimedOut extends Error {}

/** What a request that got no answer means, with the original error as its cause. */
export function unreachable(
  error: unknown,
  { place, timeoutMs }: { place: string; timeoutMs: number },
): SourceUnavailable | UsageError {
  const errors = errorsIn(error)
  const codes = errors.flatMap(({ code }) => (typeof code === 'string' ? [code] : []))
  const fail = (code: 'network' | 'tls', what: string): SourceUnavailable =>
    new SourceUnavailable(`${place}: ${what}`, { code }, { cause: error })

  if (errors.some((each) => each instanceof TimedOut))
    return fail('network', `no complete answer within ${timeoutMs / 1000} s. Ask again later, or raise requestTimeout.`)
  if (codes.includes('UND_ERR_INVALID_ARG')) {
    return new UsageError(
      `${place}: a header cannot be sent. Check the API key for line breaks and letters outside ASCII.`,
    )
  }
  if (codes.some((code) => NO_TLS.test(code)))
    return fail(
      'tls',
      'this port answers without TLS, as a plain http port does. Check the port in baseUrl; https has one of its own, usually 443.',
    )
  for (const { code, message } of errors) {
    const failure = typeof code === 'string' ? tlsFailure(code, message) : undefined
    if (failure !== undefined) return fail('tls', `${failure.what} (${String(code)}). ${failure.fix}`)
  }
  const known = NO_ANSWER.find(([pattern]) => codes.some((code) => pattern.test(code)))
  if (known !== undefined) return fail('network', known[1])
  if (errors.some(isNoHttp)) {
    const code = codes[0] ?? errors.find(isNoHttp)?.message
    return fail('network', `the answer is not valid HTTP (${code}). ${LOOK}`)
  }
  const named = codes[0] === undefined ? '' : ` (${codes[0]})`
  return fail('network', `the connection broke before the answer was complete${named}. Ask again later.`)
}

const NO_TLS = /^ERR_SSL_(WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|HTTP_REQUEST)$/

/** The first that fits holds. */
const NO_ANSWER: readonly [code: RegExp, what: string][] = [
  [/^(UND_ERR_CONNECT_TIMEOUT|ETIMEDOUT)$/, 'could not connect in time. Ask again later.'],
  [/^ENOTFOUND$/, 'the host is not known. Check baseUrl and the name service.'],
  [/^EAI_AGAIN$/, 'the name service does not answer. Ask again later.'],
  [/^ECONNREFUSED$/, 'the connection was refused. Check that the service is running there.'],
  [
    /^(EMFILE|ENFILE)$/,
    'this machine lets the program open no more files and connections. Raise the limit (ulimit -n, LimitNOFILE of a systemd unit), ' +
      'or lower concurrency or jobs.concurrency.',
  ],
]

const LOOK = 'Check the address and the port in baseUrl, and any proxy in between.'

/** Whether an answer came that cannot be read as HTTP. The parser often gives no code, and reports the end of a connection as well. */
function isNoHttp({ name, code, message }: Coded): boolean {
  if (name === 'HTTPParserError') return !message.includes('Invalid EOF state')
  return /^(HPE_|ERR_ASSERTION$|UND_ERR_(HEADERS_OVERFLOW|RES_CONTENT_LENGTH_MISMATCH)$)/.test(String(code))
}

type Coded = Error & { code?: unknown }

/** An error, the errors it aggregates, and its causes. */
function errorsIn(error: unknown, depth = 0): Coded[] {
  if (!(error instanceof Error) || depth > 4) return []
  const gathered = error instanceof AggregateError ? error.errors : []
  return [error, ...[...gathered, error.cause].flatMap((inner) => errorsIn(inner, depth + 1))]
}
