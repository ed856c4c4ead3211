import { randomUUID } from 'node:crypto'
import { RateLimited } from '../errors/errors.ts'
import type { Answer } from './connection/answer.ts'
import type { Room } from './connection/byte-budget.ts'
import type { Clock } from './clock/clock.ts'
import { holdsPage } from './page/customers-page.ts'
import type { Address, CustomersList, Question } from './customers-url.ts'
import type { IdleAgents } from './connection/idle-agents.ts'
import type { RateLimit } from './pace/rate-limit.ts'
import { refusalOf } from './refusal.ts'
import { type Connection, openConnection } from './connection/request.ts'
import { remainingIn } from './pace/retry-after.ts'
import type { SourceSettings } from './settings.ts'
import { createSigner, type Credentials, type Signer, usesNonce } from './signing/signing.ts'

export type SignedRequestsOptions = {
  settings: SourceSettings
  credentials: Credentials
  list: CustomersList
  clock: Clock
  rateLimit: Pick<RateLimit, 'succeeded'>
  agents?: IdleAgents | undefined
  userAgent: string
  now: () => number
  monotonicMs: () => number
  onAnswer?: ((answer: { status: number }) => void) | undefined
}

type SendOptions = {
  signal: AbortSignal
  /** Counts the bytes of the answer; those of an earlier answer are released first. */
  room?: Room | undefined
}

/** A request with its signed address and its headers. */
type Signed = { address: Address; headers: Record<string, string> }

const DEFAULT_MAX_BODY_BYTES = 16 * 1024 * 1024

/** Requests to one list. Each is signed at the moment it is sent, and sent once. */
export class SignedRequests {
  readonly #options: SignedRequestsOptions
  readonly #connection: Connection
  readonly #sign: Signer
  readonly #isNonceSigned: boolean
  #sent = 0
  #throttled = 0

  constructor(options: SignedRequestsOptions) {
    const { settings, credentials, now, monotonicMs, agents } = options
    const { baseUrl, requestTimeoutMs, concurrency, maxBodyBytes = DEFAULT_MAX_BODY_BYTES } = settings
    const limits = { origin: baseUrl.origin, requestTimeoutMs, maxBodyBytes, connections: concurrency }
    this.#options = options
    this.#connection = openConnection(limits, { now, monotonicMs }, agents)
    this.#sign = createSigner(credentials, settings.signing)
    this.#isNonceSigned = usesNonce(settings.signing)
  }

  /** Resolves with an answer that has a page, or a 404; throws the error of any other answer. */
  async ask(question: Question, options: SendOptions): Promise<Answer> {
    const { clock, rateLimit } = this.#options
    options.room?.release()
    const { correctionMs } = clock
    const signed = this.#signed(question)
    const answer = await this.#get(question, signed, options)
    clock.observe(answer)
    if (!holdsPage(answer, question)) throw this.#refusal(answer, question, { ...signed, correctionMs })
    rateLimit.succeeded(remainingIn(answer.headers))
    return answer
  }

  /** Resolves with any answer, without interpreting it. */
  send(question: Question, options: SendOptions): Promise<Answer> {
    return this.#get(question, this.#signed(question), options)
  }

  /** Requests sent so far, and how many requests for pages were answered with 429. */
  get counters(): { requests: number; throttled: number } {
    return { requests: this.#sent, throttled: this.#throttled }
  }

  close(): Promise<void> {
    return this.#connection.close()
  }

  #signed(question: Question): Signed {
    const { list, clock, userAgent, now } = this.#options
    const address = list.addressOf(question)
    const unixMs = now() + clock.correctionMs
    const moment = this.#isNonceSigned ? { unixMs, nonce: randomUUID() } : { unixMs }
    const signature = this.#sign({ method: 'GET', url: address }, moment)
    return { address, headers: { 'User-Agent': userAgent, ...signature } }
  }

  async #get(question: Question, { address, headers }: Signed, { signal, room }: SendOptions): Promise<Answer> {
    const { list, onAnswer } = this.#options
    this.#sent += 1
    const answer = await this.#connection.get(address, headers, { signal, place: list.placeOf(question), room })
    onAnswer?.({ status: answer.status })
    return answer
  }

  #refusal(answer: Answer, question: Question, { address, headers, correctionMs }: Signed & { correctionMs: number }) {
    const { clock, credentials, list, settings } = this.#options
    const refusal = refusalOf(answer, {
      url: new URL(address.origin + address.pathname + address.search),
      place: list.placeOf(question),
      nowMs: answer.answeredMs,
      clockOffsetMs: clock.offsetMs,
      correctionMs,
      secrets: [credentials.secret, ...Object.values(headers)],
      quotesAnswers: settings.quotesAnswers,
      organization: settings.organization,
    })
    if (refusal instanceof RateLimited) this.#throttled += 1
    return refusal
  }
}
