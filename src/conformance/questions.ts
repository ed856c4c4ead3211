import { randomUUID } from 'node:crypto'
import { describeError, factsOf, isOurs } from '../errors/errors.ts'
import { namedId, type Row } from '../model/customer.ts'
import type { Listed, Named } from '../model/run.ts'
import { Findings } from '../scan/findings.ts'
import { repeats } from '../scan/seam.ts'
import { type ReadWindow, readOf, sizeAfterRefusal, type Window, windowFrom } from '../scan/window.ts'
import { type AnswerHeaders, headerOf } from '../source/connection.ts'
import type { Asking, Source } from '../source/customers.ts'
import { confirmAbsences } from '../sync/confirm-absences.ts'

/** Retries, searches and questions for the time included. */
const MOST_REQUESTS = 40
/** Whole pages, spread over the list, and windows of other sizes that each overlap the end of one. */
const MOST_PAGES = 11
const MOST_WINDOWS = 7
/** Kept for what follows: the searches, the page behind the last and the first one again. */
const KEPT = 12
/** A search with its two controls and a retry. */
const REQUESTS_OF_A_SEARCH = 4
/** A service that fails so often in a row is down. */
const MOST_FAILURES = 3

/** A page that was asked for, as it was read; `problem` is the code of an error that makes it useless. */
export type Reading = { asked: Window; read?: ReadWindow; rows: readonly Row[]; problem?: string }

/** What a service answered; no text of a customer is kept. */
export type Answers = Pick<
  Inquiry,
  'source' | 'pageSize' | 'size' | 'findings' | 'pages' | 'between' | 'again' | 'behind' | 'matching' | 'search'
> & { failures: number; ageSeconds: number; limit: number | undefined }

type Settings = { pageSize: number; random: () => number; signal: AbortSignal }

/**
 * Asks a service what its list is like, in at most 40 requests that only read. Throws where it refuses the first page, asks for a longer pause
 * than the source waits, or fails three times in a row.
 */
export async function askService(
  open: (onAnswer: (answer: { headers: AnswerHeaders }) => void) => Promise<Source>,
  settings: Settings,
): Promise<Answers> {
  let [ageSeconds, limit]: [number, number | undefined] = [0, undefined]
  const source = await open(({ headers }) => {
    ageSeconds = Math.max(ageSeconds, numberIn(headers, 'age') ?? 0)
    limit = numberIn(headers, 'x-ratelimit-limit') ?? limit
  })
  const inquiry = new Inquiry(source, settings)
  try {
    await inquiry.ask()
    return Object.assign(inquiry, { ageSeconds, limit })
  } finally {
    source.close()
  }
}

class Inquiry {
  readonly source: Source
  readonly pageSize: number
  readonly findings: Findings
  /** In the order of the list; the windows each with the page whose end they overlap. */
  readonly pages: Reading[] = []
  readonly between: { page: Reading; window: Reading }[] = []
  /** The first page once more, and the page behind the last one. */
  again: Reading | undefined
  behind: Reading | undefined
  /** How many customers a search finds for the sign that every address has. */
  matching: number | undefined
  /** Whether a search by this field confirms that a customer is absent; undefined where that could not be told. */
  readonly search: { [Field in keyof Named]?: 'works' | 'fails' | 'refused' } = {}
  /** Answers that failed; the requests were made again where some were left. */
  failures = 0
  readonly #settings: Settings
  #failedInARow = 0
  /** Customers known to be listed: of the first page, and of the one read last. */
  readonly #controls: Listed[] = []

  constructor(source: Source, settings: Settings) {
    this.source = source
    this.pageSize = settings.pageSize
    this.findings = new Findings(settings.pageSize, false)
    this.#settings = settings
  }

  /** The size of the pages: a service may serve smaller ones than asked for. */
  get size(): number {
    return this.pages[0]?.read?.window.size ?? this.pageSize
  }

  async ask(): Promise<void> {
    await this.#askPage(1).catch((error: unknown) => {
      const size = factsOf(error).window === 'size-refused' ? sizeAfterRefusal(this.pageSize) : undefined
      if (size === undefined) throw error
      return this.#askPage(1, size)
    })
    const { size } = this
    const last = Math.ceil((this.findings.total ?? MOST_PAGES * size) / size)
    for (const page of spread(last)) await this.#askPage(page)
    for (const page of this.pages) if (page.read?.reach === page.asked.page * size) await this.#askBetween(page)
    await this.#findEnd()
    if (this.#controls.length > 0) await this.#searchAll()
    if (last > 0) this.behind = await this.#read({ page: last + 1, size })
    this.again = await this.#read({ page: 1, size })
  }

  get #left(): number {
    return MOST_REQUESTS - this.source.counters.requests
  }

  /** A request that fails is made once more. */
  get #asking(): Asking {
    let failures = 0
    const mayAskMore = (refusal: unknown) => {
      const isFailure = refusal !== undefined && factsOf(refusal).askAgain === 'retry'
      if (isFailure) [failures, this.failures] = [failures + 1, this.failures + 1]
      return failures < 2 && this.#left > 0
    }
    return { signal: this.#settings.signal, mayAskMore }
  }

  async #askPage(page: number, size = this.size): Promise<void> {
    const reading = await this.#read({ page, size })
    const { read } = reading ?? {}
    if (reading === undefined) return
    const isRepeated = read && this.pages.some((known) => known.read && repeats(known.read, read))
    this.pages.push(isRepeated === true ? { ...reading, problem: 'repeated-page' } : reading)
    this.pages.sort((one, other) => one.asked.page - other.asked.page)
  }

  /** From half a page before the end of a page on, unless two such windows were refused. */
  async #askBetween(page: Reading): Promise<void> {
    const { size, between } = this
    const isRefused = between.filter(({ window }) => window.read === undefined).length > 1
    if (isRefused || size < 4 || between.length === MOST_WINDOWS || this.#left <= KEPT) return
    const window = await this.#read(windowFrom(page.asked.page * size - Math.floor(size / 2), size - 1))
    if (window !== undefined) between.push({ page, window })
  }

  /** The last page that has rows, by halves, where the last one of the total has none. */
  async #findEnd(): Promise<void> {
    while (this.#left > KEPT) {
      const at = this.pages.findLastIndex(({ rows }) => rows.length > 0)
      const [full, empty] = [this.pages[at]?.asked.page, this.pages[at + 1]?.asked.page]
      if (full === undefined || empty === undefined || empty - full < 2) return
      await this.#askPage(Math.floor((full + empty) / 2))
    }
  }

  /** Searches by each field as a run does before it removes a customer: for a made-up text, and for customers who are listed. */
  async #searchAll(): Promise<void> {
    const { size, source } = this
    const { random, signal } = this.#settings
    const search = (text: string) => source.search(text, { size, ...this.#asking })
    const first = search('@').then(({ total }) => total)
    this.matching = await first.catch((error: unknown) => this.#refuse(error))
    for (const field of ['email', 'username', 'name'] as const) {
      if (this.#left <= REQUESTS_OF_A_SEARCH) return
      const nothing = { name: null, username: null, email: null, earlier: [] }
      const absent = { ...nothing, id: randomUUID(), [field]: randomUUID() }
      const { confirmed, refused, isPostponed } = await confirmAbsences([absent], this.#controls, {
        ...{ search, random, signal, askForPage: () => this.#read({ page: 1, size }) },
        ...{ requestsMade: () => source.counters.requests, most: this.#left },
      })
      if (isPostponed !== true) this.search[field] = confirmed.size > 0 ? 'works' : refused ? 'refused' : 'fails'
    }
  }

  /** Undefined where no request is left. */
  async #read(window: Window): Promise<Reading | undefined> {
    if (this.#left <= 0) return undefined
    try {
      const page = await this.source.readPage(window, this.#asking)
      const records = page.records()
      page.release?.()
      const rows = records.map(rowOf)
      const { reads } = this.findings
      const answer = { window, rows, perPage: page.size, total: page.total, beyondEnd: page.beyondEnd }
      const read = readOf(answer, reads)
      this.findings.observe(read, answer, reads)
      this.#controls.splice(1, 1, ...records.slice(-1).flatMap(controlOf))
      this.#failedInARow = 0
      return { asked: window, read, rows }
    } catch (error) {
      this.#refuse(error)
      return { asked: window, rows: [], problem: describeError(error).code }
    }
  }

  /** Throws an error that concerns every request, and not this one alone. */
  #refuse(error: unknown): undefined {
    const { from, askAgain } = factsOf(error)
    const { code } = describeError(error)
    this.#failedInARow = from === 'outage' ? this.#failedInARow + 1 : 0
    const isFinal = askAgain === 'wait' || code === 'unauthorized' || code === 'forbidden'
    if (this.pages.length === 0 || isFinal || this.#failedInARow === MOST_FAILURES || !isOurs(error)) throw error
  }
}

/** Pages from the second to the last one, at even distances. */
function spread(last: number): number[] {
  const pages = Array.from({ length: MOST_PAGES }, (_, step) => Math.round(1 + ((last - 1) * step) / (MOST_PAGES - 1)))
  return [...new Set(pages)].filter((page) => page > 1)
}

function rowOf(record: unknown): Row {
  const { created_at }: Partial<Record<string, unknown>> = Object(record)
  return { id: namedId(record), createdAt: typeof created_at === 'string' ? created_at : undefined }
}

function controlOf(record: unknown): Listed[] {
  const id = namedId(record)
  const { name, username, email }: Partial<Record<string, unknown>> = Object(record)
  const text = (value: unknown) => (typeof value === 'string' ? value : null)
  return id === undefined ? [] : [{ id, name: text(name), username: text(username), email: text(email) }]
}

function numberIn(headers: AnswerHeaders, name: string): number | undefined {
  const text = headerOf(headers, name) ?? ''
  return /^\d{1,9}$/.test(text) ? Number(text) : undefined
}
