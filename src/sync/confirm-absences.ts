import { namedId } from '../model/customer.ts'
import type { Candidate as Absent, Listed, Named, Searched } from '../model/run.ts'
import { factsOf, windowFailureOf } from '../errors/errors.ts'
import type { CustomersPage } from '../source/customers.ts'

type Field = keyof Named

type Candidate = Listed & Pick<Absent, 'earlier'>
const FIELDS: readonly Field[] = ['email', 'username', 'name']

type Text = { field: Field; text: string }

/** The texts to search for a candidate by, each once: the most searches that are made for it. */
function textsOfCandidate(candidate: Candidate): Text[] {
  const texts = new Map<string, Text>()
  for (const field of FIELDS) {
    for (const { [field]: text } of [candidate, ...candidate.earlier]) {
      if (isTelling(text) && !texts.has(text)) texts.set(text, { field, text })
    }
  }
  return [...texts.values()]
}

/** One or two letters match half of the list, but two Chinese characters may be a name, so bytes count. No name is as long as a page of text. */
function isTelling(text: string | null): text is string {
  return text !== null && Buffer.byteLength(text.trim()) >= 3 && text.length <= 255
}

/** Searches the service for a text, and returns the first page of matches. */
export type Search = (text: string) => Promise<CustomersPage>

export type Searching = {
  search: Search
  /** Requests made so far; the searches may add `most`, by default a hundred. */
  requestsMade: () => number
  most?: number | undefined
  random: () => number
  /** Asks for a page of the list, to tell a text that the service does not answer from a service that answers nothing. */
  askForPage: () => Promise<unknown>
  /** Aborting it ends the searches; customers found until then count. */
  signal: AbortSignal
  /**
   * By which fields an absence is confirmed: by all that were searched, or by two where another one leaves it open (default); or by two in
   * any case. A customer that moved has changed in the field by which the list is sorted, so a search by that one misses the customer too.
   */
  confirmedBy?: 'every field' | 'two fields' | undefined
  /** Whether a customer may be removed whose absence no search confirms, so that kinds of search which find no control are tried too. */
  everyKind?: boolean | undefined
}

/** How many listed customers each kind of search is tested with, so that one odd name does not fail the test. */
export const MOST_CONTROLS = 2

export const MOST_REQUESTS = 100

/**
 * Searches for each candidate by address, username and name, in the words the row has and those read before. A candidate in any answer is `found`:
 * that customer is listed. An absence is `confirmed` where an answer without the candidate is small enough to be whole, and the same kind of search
 * finds one of `controls`, who are known to be listed: by as many fields as `confirmedBy` says. A kind of search that finds no control, or that the
 * service refuses, is not used; with `everyKind` the former is, where no other one confirms the absence: the list may be the wrong one, and the
 * controls with it. There only a customer found proves anything. Where the requests are not enough, a random sample is searched for, until one is
 * found. A search that is refused, or that fails while the service answers with a page of the list, says nothing about its customer: a firewall
 * may take the name for an attack. An outage postpones all of them.
 */
export async function confirmAbsences(
  candidates: readonly Candidate[],
  controls: readonly Listed[],
  searching: Searching,
): Promise<Searched> {
  const searches = new Searches(candidates, searching)
  const { found, absent } = searches
  let isPostponed = false
  try {
    await searches.tryKinds(candidates, controls)
    await searches.lookForEach(candidates, ['works', 'unsure'])
    const unconfirmed = candidates.filter(({ id }) => !absent.has(id))
    if (searching.everyKind === true && found.size === 0) await searches.lookForEach(unconfirmed, ['fails'])
  } catch (error) {
    if (factsOf(error).from !== 'outage' && !searching.signal.aborted) throw error
    isPostponed = true
  }
  const { isSample, refused } = searches
  return { confirmed: absent.difference(found), found, refused: refused.length, isSample, isPostponed }
}

/** Whether a kind of search finds listed customers; `unsure` where more match than a page holds, `refused` where no search is answered. */
type Kind = 'works' | 'unsure' | 'fails' | 'refused'

class Searches {
  /** The candidates in any answer, whatever the searched text. */
  readonly found = new Set<string>()
  readonly absent = new Set<string>()
  /** The kinds of the searches without an answer. */
  readonly refused: Field[] = []
  /** Whether the requests do not suffice for all candidates. */
  isSample = false
  readonly #searching: Searching
  readonly #ids: ReadonlySet<string>
  readonly #madeBefore: number
  readonly #kinds: Record<Field, Kind> = { email: 'fails', username: 'fails', name: 'fails' }

  constructor(candidates: readonly Candidate[], searching: Searching) {
    this.#searching = searching
    this.#ids = new Set(candidates.map(({ id }) => id))
    this.#madeBefore = searching.requestsMade()
  }

  get #room(): number {
    const { requestsMade, most = MOST_REQUESTS } = this.#searching
    return most - (requestsMade() - this.#madeBefore)
  }

  /** Tries each field by which a candidate can be searched for. */
  async tryKinds(candidates: readonly Candidate[], controls: readonly Listed[]): Promise<void> {
    const wanted = new Set(candidates.flatMap(textsOfCandidate).map(({ field }) => field))
    for (const field of wanted) this.#kinds[field] = await this.#tryKind(field, controls)
  }

  async #tryKind(field: Field, controls: readonly Listed[]): Promise<Kind> {
    const kinds = new Set<Kind>()
    for (const control of controls.slice(0, MOST_CONTROLS)) {
      const text = control[field]
      if (!isTelling(text)) continue
      const answer = await this.#ask(field, text)
      if (answer?.ids.includes(control.id) === true) return 'works'
      if (answer === undefined) kinds.add('refused')
      else kinds.add(answer.isWhole ? 'fails' : 'unsure')
    }
    return (['unsure', 'fails', 'refused'] as const).find((kind) => kinds.has(kind)) ?? 'fails'
  }

  /** Looks by these kinds of search for each candidate that is not found yet, or for a random sample until one is found. */
  async lookForEach(candidates: readonly Candidate[], used: readonly Kind[]): Promise<void> {
    // A kind that finds no control is not used any more once it was refused here as often as there are controls.
    const before = this.refused.length
    const isRefused = (field: Field) =>
      this.refused.slice(before).filter((each) => each === field).length >= MOST_CONTROLS
    const isUsed = (field: Field) =>
      used.includes(this.#kinds[field]) && !(this.#kinds[field] === 'fails' && isRefused(field))
    const textsOf = (candidate: Candidate) => textsOfCandidate(candidate).filter(({ field }) => isUsed(field))
    this.isSample ||= candidates.reduce((sum, candidate) => sum + textsOf(candidate).length, 0) > this.#room
    for (const candidate of this.isSample ? shuffled(candidates, this.#searching.random) : candidates) {
      const texts = textsOf(candidate)
      this.isSample ||= texts.length > this.#room
      if (this.isSample && (texts.length > this.#room || this.found.size > 0)) break
      if (!this.found.has(candidate.id)) await this.#lookFor(candidate, texts)
    }
  }

  async #lookFor({ id }: Candidate, texts: readonly Text[]): Promise<void> {
    const confirming = new Set<Field>()
    // A field may have several texts, so it may be in both.
    const open = new Set<Field>()
    for (const { field, text } of texts) {
      const answer = await this.#ask(field, text)
      if (this.found.has(id)) return
      const confirms = this.#kinds[field] === 'works' && answer?.isWhole === true
      ;(confirms ? confirming : open).add(field)
    }
    const { confirmedBy = 'every field' } = this.#searching
    const sure = confirming.difference(open).size
    if (sure > 1 || (confirmedBy === 'every field' && open.size === 0 && sure > 0)) this.absent.add(id)
  }

  /** One page of matches; undefined, and counted, where the service refuses this text, or answers only others. */
  async #ask(field: Field, text: string): Promise<{ ids: string[]; isWhole: boolean } | undefined> {
    const { search, askForPage } = this.#searching
    try {
      const page = await search(text)
      const records = page.records()
      const ids = records.flatMap((record) => namedId(record) ?? [])
      for (const id of ids) if (this.#ids.has(id)) this.found.add(id)
      return { ids, isWhole: records.length < page.size && page.total === records.length }
    } catch (error) {
      const { from, askAgain } = factsOf(error)
      const isAboutText = from === 'answer' || windowFailureOf(error) !== undefined
      if (!isAboutText && (from !== 'outage' || askAgain === 'wait')) throw error
      if (!isAboutText) await askForPage()
      this.refused.push(field)
      return undefined
    }
  }
}

function shuffled<Thing>(things: readonly Thing[], random: () => number): Thing[] {
  const drawn = things.map((thing) => ({ thing, turn: random() }))
  return drawn.toSorted((one, other) => one.turn - other.turn).map(({ thing }) => thing)
}
