import { promisify } from 'node:util'
import { brotliDecompress, type BrotliOptions, gunzip, type ZlibOptions } from 'node:zlib'
import type { Agent, Dispatcher } from 'undici'
// The agent by itself: the index of undici loads 77 files more, for fetch, caches, mocks and web sockets.
import UndiciAgent from 'undici/lib/dispatcher/agent.js'
import { ContractBroken, describeError, SourceUnavailable } from '../errors/errors.ts'
import { codeOf, tlsFailure } from '../errors/faults.ts'
import { inTurn, type Room } from './byte-budget.ts'

/** An answer as received, before it is interpreted. */
export type Answer = {
  status: number
  headers: AnswerHeaders
  /** Decompressed. That of a 200 is whole; that of another status may be cut off, and is empty when it cannot be read. */
  body: Buffer
  /** When the request left and when the headers of the answer arrived, by the monotonic clock. */
  sentMs: number
  answeredMs: number
}

/** Header names are lower case. A header sent twice is a list. */
export type AnswerHeaders = Readonly<Record<string, string | string[] | undefined>>

/** The first value of a header, trimmed; undefined when it is absent. */
export function headerOf(headers: AnswerHeaders, name: string): string | undefined {
  const value = headers[name]
  return (typeof value === 'string' ? value : value?.[0])?.trim()
}

/** What sends requests: an agent of undici. A connection that is not used stays open for a few seconds, for the next run. */
export type Connections = Pick<Agent, 'dispatch'>

/** The connections of this process for requests with this time limit: one that cannot be made is given up when they are. */
export function connectionsWithin(timeoutMs: number): Connections {
  const known = AGENTS.get(timeoutMs)
  if (known !== undefined) return known
  const agent = new UndiciAgent({
    allowH2: false,
    maxResponseSize: MAX_BODY_BYTES,
    // Explicit, so that no environment variable can turn it off.
    connect: { rejectUnauthorized: true, timeout: timeoutMs },
    // One limit over the whole exchange replaces these; a pause between bytes never ends a body that drips.
    headersTimeout: 0,
    bodyTimeout: 0,
  })
  AGENTS.set(timeoutMs, agent)
  return agent
}

const AGENTS = new Map<number, Connections>()

/** One GET to exactly that address. */
export type Request = {
  address: Readonly<Pick<URL, 'origin' | 'pathname' | 'search'>>
  headers: Readonly<Record<string, string>>
  /** The request as messages name it. */
  place: string
}

export type GetOptions = {
  connections: Connections
  /** From the first byte sent to the last one received. */
  timeoutMs: number
  monotonicMs: () => number
  signal: AbortSignal
  /** The memory that the body takes of the process: it is received no faster than there is room. */
  room?: Room | undefined
}

/**
 * Sends a request once; any status is an answer, and no redirect is followed. Throws SourceUnavailable without an answer, ContractBroken for a 200
 * whose body cannot be read, and the reason of the signal.
 */
export async function get(request: Request, options: GetOptions): Promise<Answer> {
  const { signal, timeoutMs } = options
  const { place } = request
  try {
    signal.throwIfAborted()
    const { origin, pathname, search } = request.address
    const headers = { ...FIXED_HEADERS, ...request.headers }
    const exchange = new Exchange(options)
    options.connections.dispatch({ origin, path: pathname + search, method: 'GET', headers }, exchange)
    return await unpacked(await exchange.received, request, options)
  } catch (error) {
    // What has come is of no use. Kept until it is asked for again, it could stop those whose turns that needs.
    options.room?.release()
    signal.throwIfAborted()
    if (error instanceof ContractBroken) throw error
    if (codeOf(error) === 'UND_ERR_RES_EXCEEDED_MAX_SIZE') throw tooLarge(place)
    throw unreachable(error, { place, timeoutMs })
  }
}

async function unpacked({ bytes, ...facts }: Received, { place }: Request, options: GetOptions): Promise<Answer> {
  const { room, signal } = options
  const { status, headers } = facts
  const encoding = headerOf(headers, 'content-encoding')
  if (status !== 200) {
    // Its message is short; the request may wait long before it is sent again.
    room?.release()
    // The status already says what to do; the message would only add detail.
    return { ...facts, body: await decompressed(bytes, encoding).catch(() => Buffer.alloc(0)) }
  }
  const unpack = async () => {
    try {
      const body = await decompressed(bytes, encoding)
      room?.add(body.byteLength - bytes.byteLength)
      return body
    } catch (error) {
      if (codeOf(error) === 'ERR_BUFFER_TOO_LARGE') throw tooLarge(place)
      const message = `${place}: the answer cannot be decompressed. Look for a broken proxy in between.`
      throw new ContractBroken(message, { code: 'bad-answer' })
    }
  }
  const isPacked = encoding !== undefined && room !== undefined
  return { ...facts, body: isPacked ? await inTurn(unpack, room, signal) : await unpack() }
}

const FIXED_HEADERS = {
  Accept: 'application/json',
  'Content-Type': 'application/json',
  // Only encodings that can be decompressed within a bound.
  'Accept-Encoding': 'gzip, br',
  'Cache-Control': 'no-cache',
}

type Received = Omit<Answer, 'body'> & { bytes: Buffer }

/**
 * Collects one answer, chunk by chunk as the parser hands them over: through a stream, a page costs half as much again.
 *
 *              headers                last byte; or the body of an error breaks off
 *   ──▶ sent ──────────▶ receiving ──────────────────────────────────────────────▶ over: resolved
 *         │               │   ▲ │
 *         │       no room │   │ │ room again
 *         │               ▼   │ │
 *         │               paused│
 *         │                     │  abort, time, or a page breaks off
 *         └─────────────────────┴────────────────────────────────────────────────▶ over: rejected
 *
 * The time that a pause keeps the service waiting does not count.
 */
class Exchange implements Dispatcher.DispatchHandler {
  readonly #options: GetOptions
  readonly #outcome = Promise.withResolvers<Received>()
  readonly received = this.#outcome.promise
  readonly #chunks: Buffer[] = []
  readonly #sentMs: number
  readonly #abort = () => this.#fail(new Error('aborted'))
  #controller: Dispatcher.DispatchController | undefined
  /** Undefined until the headers are there. */
  #answer: Omit<Answer, 'body'> | undefined
  #timer: NodeJS.Timeout
  #isOver = false

  constructor(options: GetOptions) {
    this.#options = options
    this.#sentMs = options.monotonicMs()
    this.#timer = this.#startTimer()
    options.signal.addEventListener('abort', this.#abort)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#isOver) controller.abort(new Error('given up before it was sent'))
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: AnswerHeaders): void {
    // 1xx only announces an answer.
    if (status < 200) return
    this.#answer = { status, headers, sentMs: this.#sentMs, answeredMs: this.#options.monotonicMs() }
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    const { room } = this.#options
    this.#chunks.push(chunk)
    room?.add(chunk.byteLength)
    if (room?.mayGoOn !== false) return
    controller.pause()
    clearTimeout(this.#timer)
    room.whenRoom(() => {
      this.#timer = this.#startTimer()
      controller.resume()
    })
  }

  onResponseEnd(): void {
    this.#finish()
  }

  /** A truncated page is an error. A truncated error body is still useful. */
  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    if (this.#answer === undefined || this.#answer.status === 200) this.#fail(error)
    else this.#finish()
  }

  #startTimer(): NodeJS.Timeout {
    return setTimeout(() => {
      const error = new TimedOut('no complete answer in time')
      if (this.#controller === undefined) this.#fail(error)
      else this.#controller.abort(error)
    }, this.#options.timeoutMs)
  }

  #fail(error: Error): void {
    if (this.#isOver) return
    this.#end()
    this.#outcome.reject(error)
    this.#controller?.abort(error)
  }

  #finish(): void {
    if (this.#isOver || this.#answer === undefined) return
    this.#end()
    const [only] = this.#chunks
    const bytes = only !== undefined && this.#chunks.length === 1 ? only : Buffer.concat(this.#chunks)
    this.#outcome.resolve({ ...this.#answer, bytes })
  }

  #end(): void {
    this.#isOver = true
    this.#options.room?.whenRoom(undefined)
    clearTimeout(this.#timer)
    this.#options.signal.removeEventListener('abort', this.#abort)
  }
}

/** The most bytes of a body, on the wire and decompressed. */
const MAX_BODY_BYTES = 16 * 1024 * 1024

/** The text of a body in UTF-8, without its byte order mark. Invalid bytes are an error: replacing one would change a customer. */
export function decodedText(bytes: Uint8Array, place: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new ContractBroken(`${place}: the answer is not valid UTF-8. Ask the service to correct the record in it.`, {
      code: 'not-utf8',
    })
  }
}

async function decompressed(bytes: Buffer, encoding: string | undefined): Promise<Buffer> {
  const name = (encoding ?? '').toLowerCase()
  if (NO_ENCODINGS.has(name)) return bytes
  const decompress = DECOMPRESS.get(name)
  if (decompress === undefined) throw new Error('unknown content encoding')
  // A proxy may declare an encoding for an empty body.
  return bytes.byteLength === 0 ? bytes : await decompress(bytes, { maxOutputLength: MAX_BODY_BYTES })
}

/** Some services write the name of their character set where an encoding belongs. */
const NO_ENCODINGS: ReadonlySet<string> = new Set(['', 'identity', 'none', 'utf-8', 'utf8'])

const DECOMPRESS = new Map([
  ['gzip', promisify<Buffer, ZlibOptions, Buffer>(gunzip)],
  ['br', promisify<Buffer, BrotliOptions, Buffer>(brotliDecompress)],
])

export function tooLarge(place: string, how = `is larger than ${MAX_BODY_BYTES} bytes`): ContractBroken {
  const message = `${place}: the answer ${how}. Lower pageSize, or check what answers there.`
  return new ContractBroken(message, { code: 'too-large' })
}

class TimedOut extends Error {}

/** What a request that got no answer means, with the original error as its cause. */
function unreachable(error: unknown, { place, timeoutMs }: { place: string; timeoutMs: number }): SourceUnavailable {
  const fail = (code: 'network' | 'tls', what: string): SourceUnavailable =>
    new SourceUnavailable(`${place}: ${what}`, { code }, { cause: error })
  if (error instanceof TimedOut)
    return fail('network', `no complete answer within ${timeoutMs / 1000} s. Ask again later, or raise requestTimeout.`)
  const { message } = describeError(error)
  // An answer that was not asked for, such as 100 or 101, has the code of a connection that broke.
  const said = /^bad (response|upgrade)$/.test(message) ? message : (codeOf(error) ?? message)
  if (/^ERR_SSL_(WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|HTTP_REQUEST)$/.test(said))
    return fail('tls', 'this port answers without TLS, as a plain http port does. Check the port in baseUrl.')
  const failure = tlsFailure(said, message)
  if (failure !== undefined) return fail('tls', `${failure.what} (${said}). ${failure.fix}`)
  const [, what = 'the connection broke before the answer was complete (SAID). Ask again later.'] =
    NO_ANSWER.find(([pattern]) => pattern.test(said)) ?? []
  const words = what.replace('SAID', () => said)
  return fail('network', words)
}

/** What is said of an error without an answer, by its code, or by its message where it has none. */
const NO_ANSWER: readonly [said: RegExp, what: string][] = [
  [/^(UND_ERR_CONNECT_TIMEOUT|ETIMEDOUT)$/, 'could not connect in time. Ask again later.'],
  [/^ENOTFOUND$/, 'the host is not known. Check baseUrl and the name service.'],
  [/^EAI_AGAIN$/, 'the name service does not answer. Ask again later.'],
  [/^ECONNREFUSED$/, 'the connection was refused. Check that the service is running there.'],
  [
    /^(EMFILE|ENFILE)$/,
    'this machine lets the program open no more files and connections. Raise the limit (ulimit -n, LimitNOFILE of a systemd unit), ' +
      'or lower concurrency or jobs.concurrency.',
  ],
  // The parser reports the end of a connection as well.
  [
    /^(HPE_|(UND_ERR_(HEADERS_OVERFLOW|RES_CONTENT_LENGTH_MISMATCH)|ERR_ASSERTION)$|bad |Response does not match (?!.*Invalid EOF))/,
    'the answer is not valid HTTP (SAID). Check the address and the port in baseUrl, and any proxy in between.',
  ],
]
