import type { Candidate, Listed, Named, Searched } from '../run.ts'
import { factsOf } from '../errors.ts'
import type { CustomersPage } from '../source/customers.ts'
import { windowFailureOf } from '../window-failure.ts'

/** Searches the service for a text, and returns the first page of matches. */
export type Search = (text: string) => Promise<CustomersPage>

export type Searching = {
  search: Search
  /** Requests made so far; the searches may add a hundred, or `most` if that is less. */
  requestsMade: () => number
  most?: number | undefined
  /** Between 0 and 1. */
  random: () => number
  /** Aborting it ends the searches; customers found until then count. */
  signal: AbortSignal
  /**
   * Whether one field does not confirm an absence while another one leaves it open. A settled scan misses only customers that moved,
   * and whose field has changed by which the list is sorted: a search by that field misses them too.
   */
  everyField?: boolean | undefined
}

/** How many listed customers each kind of search is tested with, so that one odd name does not fail the test. */
export const MOST_CONTROLS = 2

export const MOST_REQUESTS = 100

/**
 * Searches for each candidate by address, username and name, in the words the row has and those read before. A candidate in
 * any answer is `found`: that customer is listed. An absence is `confirmed` where an answer without the candidate is small
 * enough to be whole, and the same kind of search finds one of `controls`, who are known to be listed. A kind of search that
 * finds no control, or that the service refuses, is not used. With `everyField`, all fields that were searched have to confirm the
 * absence, or two of them where another one leaves it open. A candidate is `unanswered` where the service refuses each search
 * that was to be made. Where a hundred requests are not enough, a random sample is searched for, until one is found. An outage
 * postpones: nothing is concluded from a search that could not be made.
 */
export async function confirmAbsences(
  candidates: readonly Candidate[],
  controls: readonly Listed[],
  searching: Searching,
): Promise<Searched> {
  const room = roomOf(searching)
  const found = new Set<string>()
  const search = noting(found, candidates, searching.search)
  const fates = { absent: new Set<string>(), unknown: new Set<string>(), unanswered: new Set<string>() }
  let isSample = false
  let isPostponed = false
  try {
    const kinds = await tryKinds(candidates, controls, search)
    const textsOf = (candidate: Candidate) =>
      textsOfCandidate(candidate).filter(({ field }) => kinds[field] !== 'fails')
    isSample = candidates.reduce((sum, candidate) => sum + textsOf(candidate).length, 0) > room()
    for (const candidate of isSample ? shuffled(candidates, searching.random) : candidates) {
      if (textsOf(candidate).length > room()) isSample = true
      if (isSample && (textsOf(candidate).length > room() || found.size > 0)) break
      if (found.has(candidate.id)) continue
      const fate = await lookFor(candidate, textsOf(candidate), { ...searching, kinds, search })
      if (fate !== 'found') fates[fate].add(candidate.id)
    }
  } catch (error) {
    if (factsOf(error).from !== 'outage' && !searching.signal.aborted) throw error
    isPostponed = true
  }
  const { absent, unknown, unanswered } = fates
  // A sample with mostly unanswered searches decides for no other customer.
  if (isSample && unanswered.size > absent.size + unknown.size) isPostponed = true
  return { confirmed: absent.difference(found), found, unanswered, isSample, isPostponed }
}

/** A search that adds every candidate in any of its answers to `found`, whatever the searched text. */
function noting(found: Set<string>, candidates: readonly Candidate[], search: Search): Search {
  const ids = new Set(candidates.map(({ id }) => id))
  return async (text) => {
    const page = await search(text)
    const records = page.records()
    for (const id of idsIn({ records })) if (ids.has(id)) found.add(id)
    return { ...page, records: () => records }
  }
}

type Field = keyof Named
const FIELDS: readonly Field[] = ['email', 'username', 'name']

/** Whether a kind of search finds customers known to be listed; `unsure` where more match than one page holds. */
type Kind = 'works' | 'unsure' | 'fails'
type Kinds = Record<Field, Kind>

type Text = { field: Field; text: string }

type Answer = Pick<CustomersPage, 'total' | 'size'> & { records: readonly unknown[] }

/** The most searches that are made for a candidate. */
export function searchesFor(candidate: Candidate): number {
  return textsOfCandidate(candidate).length
}

function textsOfCandidate(candidate: Candidate): Text[] {
  const texts = new Map<string, Text>()
  for (const field of FIELDS) {
    for (const { [field]: text } of [candidate, ...candidate.earlier]) {
      if (isTelling(text) && !texts.has(text)) texts.set(text, { field, text })
    }
  }
  return [...texts.values()]
}

/** A letter or two would match half the list, though two signs may be a Chinese name; a page of text is too long for an address. */
function isTelling(text: string | null): text is string {
  return text !== null && Buffer.byteLength(text.trim()) >= 3 && text.length <= 255
}

async function tryKinds(candidates: readonly Candidate[], controls: readonly Listed[], search: Search): Promise<Kinds> {
  const kinds: Kinds = { email: 'fails', username: 'fails', name: 'fails' }
  const wanted = new Set(candidates.flatMap(textsOfCandidate).map(({ field }) => field))
  for (const field of FIELDS) if (wanted.has(field)) kinds[field] = await tryKind(field, controls, search)
  return kinds
}

async function tryKind(field: Field, controls: readonly Listed[], search: Search): Promise<Kind> {
  let kind: Kind = 'fails'
  for (const control of controls.slice(0, MOST_CONTROLS)) {
    const text = control[field]
    const answer = isTelling(text) ? await answerTo(text, search) : undefined
    if (answer === undefined) continue
    if (holds(answer, control.id)) return 'works'
    if (!isWhole(answer)) kind = 'unsure'
  }
  return kind
}

async function lookFor(
  { id }: Candidate,
  texts: readonly Text[],
  { kinds, search, everyField = false }: Pick<Searching, 'search' | 'everyField'> & { kinds: Kinds },
): Promise<'found' | 'absent' | 'unknown' | 'unanswered'> {
  const confirming = new Set<Field>()
  const open = new Set<Field>()
  let answers = 0
  for (const { field, text } of texts) {
    const answer = await answerTo(text, search)
    if (answer !== undefined && holds(answer, id)) return 'found'
    if (answer !== undefined) answers += 1
    const confirms = kinds[field] === 'works' && answer !== undefined && isWhole(answer)
    ;(confirms ? confirming : open).add(field)
  }
  if (everyField ? isSure(confirming, open) : confirming.size > 0) return 'absent'
  return texts.length > 0 && answers === 0 ? 'unanswered' : 'unknown'
}

/** Whether all searched fields confirm an absence, or two of them where another one leaves it open. */
function isSure(confirming: ReadonlySet<Field>, open: ReadonlySet<Field>): boolean {
  const sure = confirming.difference(open).size
  return open.size === 0 ? sure > 0 : sure > 1
}

/** The answer to a search; undefined if the service refuses this text, or the answer cannot be read. */
async function answerTo(text: string, search: Search): Promise<Answer | undefined> {
  try {
    const page = await search(text)
    return { records: page.records(), total: page.total, size: page.size }
  } catch (error) {
    if (factsOf(error).from !== 'answer' && windowFailureOf(error) === undefined) throw error
    return undefined
  }
}

function isWhole({ records, total, size }: Answer): boolean {
  return records.length < size && total === records.length
}

function holds(answer: Pick<Answer, 'records'>, id: string): boolean {
  return idsIn(answer).includes(id)
}

function idsIn({ records }: Pick<Answer, 'records'>): string[] {
  return records.flatMap((record) => {
    const isObject = typeof record === 'object' && record !== null
    return isObject && 'id' in record && typeof record.id === 'string' ? [record.id.toLowerCase()] : []
  })
}

/** How many requests the searches may still make. */
function roomOf({ requestsMade, most = MOST_REQUESTS }: Searching): () => number {
  const before = requestsMade()
  return () => Math.min(most, MOST_REQUESTS) - (requestsMade() - before)
}

/** The items in random order. */
function shuffled<Thing>(things: readonly Thing[], random: () => number): Thing[] {
  const order = [...things]
  for (let last = order.length - 1; last > 0; last -= 1) {
    const other = Math.floor(random() * (last + 1))
    const [one, two] = [order[last], order[other]]
    if (one !== undefined && two !== undefined) [order[last], order[other]] = [two, one]
  }
  return order
}
