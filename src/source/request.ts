import { Agent, request } from 'undici'
import { ContractBroken } from '../errors.ts'
import { type Answer, headerOf } from './answer.ts'
import { beginningOf, decodedText, wholeOf } from './body.ts'
import { unreachable } from './unreachable.ts'

/** Connections to one service. Sends single requests and never repeats one. */
export type Connection = {
  /**
   * One GET to exactly `url`. Any status is an answer, a redirect included, which is not followed. Throws
   * `SourceUnavailable` without an answer, `ContractBroken` for a 200 whose body cannot be read, and the signal's reason.
   */
  get(url: URL, headers: Readonly<Record<string, string>>, options: GetOptions): Promise<Answer>
  /** Ends every connection, those in use too. */
  close(): Promise<void>
}

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

  async function exchange(url: URL, headers: Readonly<Record<string, string>>, options: GetOptions): Promise<Answer> {
    const { signal, place } = options
    const sentMs = now()
    const response = await request(url, {
      dispatcher: agent,
      method: 'GET',
      headers: { ...FIXED_HEADERS, ...headers },
      signal,
    })
    const answeredMs = now()
    const status = response.statusCode
    const encoding = headerOf(response.headers, 'content-encoding')
    const facts = { status, headers: response.headers, sentMs, answeredMs }
    if (status !== 200) return { ...facts, text: await beginningOf(response.body, encoding), bytes: 0 }
    const body = await wholeOf(response.body, { encoding, maxBodyBytes, place })
    return { ...facts, text: decodedText(body, place), bytes: body.byteLength }
  }

  return {
    async get(url, headers, { signal, place }) {
      const timeout = AbortSignal.timeout(requestTimeoutMs)
      try {
        return await exchange(url, headers, { signal: AbortSignal.any([signal, timeout]), place })
      } catch (error) {
        signal.throwIfAborted()
        if (error instanceof ContractBroken) throw error
        throw unreachable(error, { place, timedOutAfterMs: timeout.aborted ? requestTimeoutMs : undefined })
      }
    },
    async close() {
      await agent.destroy()
    },
  }
}

const FIXED_HEADERS = {
  Accept: 'application/json',
  'Content-Type': 'application/json',
  // Only what can be decompressed within a bound.
  'Accept-Encoding': 'gzip, deflate, br',
  'Cache-Control': 'no-cache',
}
