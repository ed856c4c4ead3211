import { randomUUID } from 'node:crypto'
import type { Organization } from '../config/organization.ts'
import { describeError, factsOf, windowFailureOf } from '../errors/errors.ts'
import { namedId, type Row } from '../model/customer.ts'
import { plainCustomer, rowOf } from '../model/record.ts'
import type { Listed } from '../model/run.ts'
import { Findings } from '../scan/findings.ts'
import { repeats } from '../scan/seam.ts'
import { type ReadWindow, readOf, sizeAfterRefusal, type Window, windowFrom } from '../scan/window.ts'
import { headerOf } from '../source/connection.ts'
import type { Asking, Source } from '../source/customers.ts'
import { closing } from '../store/mirror.ts'
import { confirmAbsences } from '../sync/confirm-absences.ts'
import { openConfiguredSource } from '../sync/run-organization.ts'

/** Retries, searches and questions for the time included. */
const MOST_REQUESTS = 40
/** Whole pages, spread over the list, and windows of other sizes that each overlap the end of one. */
const [MOST_PAGES, MOST_WINDOWS] = [11, 7]
/** Kept for the searches, the page behind the last and the first one again; and for a search, with two controls and a retry. */
const [KEPT, KEPT_FOR_A_SEARCH] = [12, 4]

/** A page that was asked for, as it was read; `problem` is the code of an error that makes it useless. */
type Answered = { asked: Window; read?: ReadWindow; rows: readonly Row[]; problem?: string }

/** What a service answered; no text of a customer is kept. */
export type Answers = Readonly<Inquiry> & { ageSeconds: number; limit: number; perMinute: number | undefined }

type Settings = Parameters<typeof openConfiguredSource>[1] & { signal: AbortSignal }

/**
 * Asks a service what its list is like, in at most 40 requests that only read. Throws where it refuses the first page, asks for a longer
 * pause than the source waits, or fails twice at one request.
 */
export async function askService(organization: Organization, settings: Settings): Promise<Answers> {
  let [ageSeconds, limit] = [0, 0]
  const onAnswer: Settings['onAnswer'] = ({ headers }) => {
    ageSeconds = Math.max(ageSeconds, Number(headerOf(headers, 'age')) || 0)
    limit = Number(headerOf(headers, 'x-ratelimit-limit')) || limit
  }
  const source = await openConfiguredSource(organization, { ...settings, onAnswer })
  return closing(source, async () => {
    const inquiry = new Inquiry(source, organization.pageSize, settings)
    await inquiry.ask()
    return Object.assign(inquiry, { ageSeconds, limit, perMinute: organization.rateLimit.requestsPerMinute })
  })
}

class Inquiry {
  readonly source: Source
  /** The page size is the configured one here, and `size` the one that is served in its place. */
  readonly findings: Findings
  size: number
  readonly readings: Answered[] = []
  /** Among these, pages in the order of the list, and windows, each with the page whose end it overlaps. */
  readonly pages: Answered[] = []
  readonly between: { page: Answered; window: Answered }[] = []
  /** How many customers a search finds for the sign that every address has. */
  matching: number | undefined
  /** The fields by which searches confirm that a customer is absent, and by which they do not. */
  readonly search: { works: string[]; fails: string[] } = { works: [], fails: [] }
  /** Answers that failed; the requests were made again where some were left. */
  failures = 0
  readonly #settings: Settings
  /** Customers known to be listed: of the first page, and of the one read last. */
  readonly #controls: Listed[] = []

  constructor(source: Source, pageSize: number, settings: Settings) {
    this.source = source
    this.findings = new Findings(pageSize, false)
    this.size = pageSize
    this.#settings = settings
  }

  async ask(): Promise<void> {
    await this.#askPage(1).catch((error: unknown) => {
      const size = factsOf(error).window === 'size-refused' ? sizeAfterRefusal(this.size) : undefined
      if (size === undefined) throw error
      return this.#askPage(1, size)
    })
    const size = (this.size = this.pages[0]?.read?.window.size ?? this.size)
    const last = Math.ceil((this.findings.total ?? MOST_PAGES * size) / size)
    for (let step = 1; step < MOST_PAGES; step += 1) {
      const page = Math.round(1 + ((last - 1) * step) / (MOST_PAGES - 1))
      if (page > (this.pages.at(-1)?.asked.page ?? 0)) await this.#askPage(page)
    }
    for (const page of this.pages) if (page.read?.reach === page.asked.page * size) await this.#askBetween(page)
    await this.#findEnd()
    if (this.#controls.length > 0) await this.#searchAll()
    for (const page of [last + 1, 1]) await this.#read({ page, size })
  }

  get #left(): number {
    return MOST_REQUESTS - this.source.counters.requests
  }

  /** A request that fails is made once more. */
  #asking(): Asking {
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
    if (reading === undefined) return
    const { read: own } = reading
    if (own && this.pages.some(({ read }) => read && repeats(read, own))) reading.problem = 'repeated-page'
    this.pages.push(reading)
    this.pages.sort((one, other) => one.asked.page - other.asked.page)
  }

  /** From half a page before the end of a page on, unless two such windows were refused. */
  async #askBetween(page: Answered): Promise<void> {
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
    const search = (text: string) => source.search(text, { size, ...this.#asking() })
    // What ends every request ends the next one too.
    this.matching = (await search('@').catch(() => undefined))?.total
    for (const field of ['email', 'username', 'name'] as const) {
      if (this.#left <= KEPT_FOR_A_SEARCH) return
      const absent = { name: null, username: null, email: null, earlier: [], id: randomUUID(), [field]: randomUUID() }
      const { confirmed, refused, isPostponed, isSample } = await confirmAbsences([absent], this.#controls, {
        ...{ ...this.#settings, search, askForPage: () => this.#read({ page: 1, size }) },
        ...{ requestsMade: () => source.counters.requests, most: this.#left },
      })
      if (isPostponed || isSample) return
      if (confirmed.size > 0) this.search.works.push(field)
      else this.search.fails.push(refused ? `${field} (refused)` : field)
    }
  }

  /** Undefined where no request is left. */
  async #read(window: Window): Promise<Answered | undefined> {
    if (this.#left <= 0) return undefined
    const reading: Answered = { asked: window, rows: [] }
    try {
      const page = await this.source.readPage(window, this.#asking())
      const records = page.records()
      page.release?.()
      const rows = records.map((record) => ({ ...rowOf(record), id: namedId(record) }))
      const { reads } = this.findings
      const answer = { window, rows, perPage: page.size, total: page.total, beyondEnd: page.beyondEnd }
      const read = readOf(answer, reads)
      this.findings.observe(read, answer, reads)
      this.#controls.splice(1, 1, ...records.slice(-1).flatMap((record) => plainCustomer(record) ?? []))
      Object.assign(reading, { read, rows })
    } catch (error) {
      const { code } = describeError(error)
      const isAboutPage = windowFailureOf(error) !== undefined || code === 'bad-answer'
      if (this.pages.length > 0 && this.#left <= 0) return undefined
      if (this.pages.length === 0 || !isAboutPage) throw error
      reading.problem = code
    }
    this.readings.push(reading)
    return reading
  }
}
