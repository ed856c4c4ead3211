import { version } from '../../src/version.ts'

/** What became of a request: only what may be logged, so never the address, which may hold a token. */
export type Sent = { isTaken: boolean; answer: string }

/** For one request, with its answer. */
const TIMEOUT_MS = 15_000

/**
 * Sends one request and reads nothing of the answer but its status. Follows no redirect: what is sent goes to the configured address and
 * nowhere else. Never throws.
 */
export async function send(
  url: URL,
  { body, headers, signal }: { body?: string; headers?: Record<string, string>; signal: AbortSignal },
): Promise<Sent> {
  try {
    const response = await fetch(url, {
      method: body === undefined ? 'GET' : 'POST',
      redirect: 'manual',
      headers: {
        'user-agent': `customer-mirror/${version()}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body }),
      signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
    })
    await response.body?.cancel()
    return { isTaken: response.ok, answer: `status ${response.status}` }
  } catch (error) {
    return { isTaken: false, answer: reasonOf(error) }
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown'
  if (error.name === 'TimeoutError') return `no answer within ${TIMEOUT_MS / 1000} s`
  const { cause } = error
  if (!(cause instanceof Error)) return error.name
  return 'code' in cause && typeof cause.code === 'string' ? cause.code : cause.name
}
