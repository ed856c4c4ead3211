import { Agent } from 'undici'
import { ContractBroken } from '../errors.ts'
import { type Answer, headerOf } from './answer.ts'
import { beginningOf, wholeOf } from './body.ts'
import { unreachable } from './unreachable.ts'

/** Connections to one service. Sends single requests and never repeats one. */
export type Connection = {
  /**
   * One GET to exactly that address. Any status is an answer, a redirect included, which is not followed. Throws
   * `SourceUnavailable` without an answer, `ContractBroken` for a 200 whose body cannot be read, and the signal's reason.
   */
  get(address: Address, headers: Readonly<Record<string, string>>, options: GetOptions): Promise<Answer>
  /** Ends every connection, those in use too. */
  close(): Promise<void>
}

/** Where to, as a URL names its parts. */
type Address = Readonly<Pick<URL, 'origin' | 'pathname' | 'search'>>

type GetOptions = {
  signal: AbortSignal
  /** The request as messages name it. */
  place: string
}

type Limits = {
  /** For the whole exchange, from the first byte sent to the last one received. */
  requestTimeoutMs: number
  /** Of a body, before and after decompression. */
  maxBodyBytes: number
  connections: number
}

export function openConnection(limits: Limits, now: () => number): Connection {
  const { requestTimeoutMs, maxBodyBytes, connections } = limits
  const agent = new Agent({
    connections,
    allowH2: false,
    // Said aloud, so that no variable of the environment can turn it off.
    connect: { rejectUnauthorized: true, timeout: requestTimeoutMs },
    // One limit over the whole exchange replaces these; a pause between bytes never ends a body that drips.
    headersTimeout: 0,
    bodyTimeout: 0,
  })

  async function exchange(
    { origin, pathname, search }: Address,
    headers: Readonly<Record<string, string>>,
    { signal, place }: GetOptions,
  ): Promise<Answer> {
    const sentMs = now()
    const response = await agent.request({
      origin,
      path: pathname + search,
      method: 'GET',
      headers: { ...FIXED_HEADERS, ...headers },
      signal,
    })
    const answeredMs = now()
    const status = response.statusCode
    const encoding = headerOf(response.headers, 'content-encoding')
    const facts = { status, headers: response.headers, sentMs, answeredMs }
    if (status !== 200) return { ...facts, text: await beginningOf(response.body, encoding), body: NOTHING }
    return { ...facts, text: '', body: await wholeOf(response.body, { encoding, maxBodyBytes, place }) }
  }

  return {
    async get(address, headers, { signal, place }) {
      const limit = limitOf(signal, requestTimeoutMs)
      try {
        return await exchange(address, headers, { signal: limit.signal, place })
      } catch (error) {
        signal.throwIfAborted()
        if (error instanceof ContractBroken) throw error
        throw unreachable(error, { place, timedOutAfterMs: limit.timedOut ? requestTimeoutMs : undefined })
      } finally {
        limit.lift()
      }
    },
    async close() {
      await agent.destroy()
    },
  }
}

/** Ends one exchange. */
type Limit = {
  readonly signal: AbortSignal
  readonly timedOut: boolean
  /** Lets go of the timer and of the signal it was made from. */
  lift(): void
}

/**
 * A signal that aborts with `outer`, and after `timeoutMs`. `AbortSignal.any` with `AbortSignal.timeout` says the same at
 * about three times the cost, and leaves its timer to run out.
 */
function limitOf(outer: AbortSignal, timeoutMs: number): Limit {
  const controller = new AbortController()
  let timedOut = false
  const follow = (): void => controller.abort(outer.reason)
  const timer = setTimeout(() => {
    timedOut = true
    controller.abort(new DOMException('The request timed out', 'TimeoutError'))
  }, timeoutMs)
  if (outer.aborted) follow()
  else outer.addEventListener('abort', follow)
  return {
    signal: controller.signal,
    get timedOut() {
      return timedOut
    },
    lift() {
      clearTimeout(timer)
      outer.removeEventListener('abort', follow)
    },
  }
}

const NOTHING = Buffer.alloc(0)

const FIXED_HEADERS = {
  Accept: 'application/json',
  'Content-Type': 'application/json',
  // Only what can be decompressed within a bound.
  'Accept-Encoding': 'gzip, deflate, br',
  'Cache-Control': 'no-cache',
}
