import { ContractBroken } from '../../errors/errors.ts'
import { type Answer, type AnswerHeaders, headerOf } from './answer.ts'
import { beginningOf, ERROR_BYTES, isCutOff, wholeOf } from './body.ts'
import { inTurn, type Room } from './byte-budget.ts'
import { exchange, TimedOut } from './exchange.ts'
import { createAgent, type IdleAgents } from './idle-agents.ts'
import { unreachable } from './unreachable.ts'

/** Connections to one service. Sends single requests and never repeats one. */
export type Connection = {
  /**
   * One GET to exactly that address. Any status is an answer, a redirect included, which is not followed. Throws
   * `SourceUnavailable` without an answer, `ContractBroken` for a 200 whose body cannot be read, and the signal's reason.
   */
  get(address: Address, headers: Readonly<Record<string, string>>, options: GetOptions): Promise<Answer>
  /** Ends every connection, or returns them to the idle ones, once no request is under way. */
  close(): Promise<void>
}

/** An address, in parts named as in a URL. */
type Address = Readonly<Pick<URL, 'origin' | 'pathname' | 'search'>>

type GetOptions = {
  signal: AbortSignal
  /** The request as messages name it. */
  place: string
  room?: Room | undefined
}

type Limits = {
  /** The origin of every address requested. */
  origin: string
  /** For the whole exchange, from the first byte sent to the last one received. */
  requestTimeoutMs: number
  /** The most bytes of a body, before and after decompression. */
  maxBodyBytes: number
  connections: number
}

type Clocks = {
  /** Unix milliseconds. */
  now: () => number
  monotonicMs: () => number
}

/** Takes an idle agent and puts it back at the close; without idle agents, it opens one of its own. */
export function openConnection(limits: Limits, { now, monotonicMs }: Clocks, idle?: IdleAgents): Connection {
  const { requestTimeoutMs, maxBodyBytes } = limits
  const kind = { ...limits, connectTimeoutMs: requestTimeoutMs }
  const agent = idle?.take(kind) ?? createAgent(kind)
  let isClosed = false

  async function ask(
    { origin, pathname, search }: Address,
    headers: Readonly<Record<string, string>>,
    { signal, place, room }: GetOptions,
  ): Promise<Answer> {
    const request = { origin, path: pathname + search, headers: { ...FIXED_HEADERS, ...headers } }
    const limit = { timeoutMs: requestTimeoutMs, mostBytes, signal, room }
    const startMs = monotonicMs()
    let [sentMs, answeredMs, monotonicAnsweredMs] = [0, 0, 0]
    const received = await exchange(agent, request, limit, () => {
      answeredMs = now()
      // Both moments by the wall clock of the answer: it may have been set while the request was under way.
      monotonicAnsweredMs = monotonicMs()
      sentMs = answeredMs - (monotonicAnsweredMs - startMs)
    })
    const { status } = received
    const facts = { status, headers: received.headers, sentMs, answeredMs, monotonicAnsweredMs }
    const encoding = headerOf(received.headers, 'content-encoding')
    if (status !== 200) return { ...facts, text: await beginningOf(received, encoding), body: NOTHING }
    const unpack = async () => {
      const body = await wholeOf(received, { encoding, maxBodyBytes, place })
      if (!isMeasured(received.headers) && isCutOff(body))
        throw new Error('the connection ended in the middle of a page')
      room?.add(body.byteLength - received.bytes.byteLength)
      return body
    }
    const isPacked = encoding !== undefined && room !== undefined
    return { ...facts, text: '', body: isPacked ? await inTurn(unpack, room, signal) : await unpack() }
  }

  /** For an error, as much of its body as may hold its message. */
  function mostBytes(status: number): number {
    return status === 200 ? maxBodyBytes : ERROR_BYTES
  }

  return {
    async get(address, headers, options) {
      const { signal, place } = options
      try {
        return await ask(address, headers, options)
      } catch (error) {
        signal.throwIfAborted()
        if (error instanceof ContractBroken) throw error
        throw unreachable(error, { place, timedOutAfterMs: error instanceof TimedOut ? requestTimeoutMs : undefined })
      }
    },
    async close() {
      if (isClosed) return
      isClosed = true
      if (idle === undefined) await agent.destroy()
      else idle.putBack(kind, agent)
    },
  }
}

/** Whether the answer said how long it is; otherwise, as in HTTP/1.0, the end of the connection is its end, wherever that came. */
function isMeasured(headers: AnswerHeaders): boolean {
  return (headers['content-length'] ?? headers['transfer-encoding']) !== undefined
}

const NOTHING = Buffer.alloc(0)

const FIXED_HEADERS = {
  Accept: 'application/json',
  'Content-Type': 'application/json',
  // Only encodings that can be decompressed within a bound.
  'Accept-Encoding': 'gzip, deflate, br',
  'Cache-Control': 'no-cache',
}
