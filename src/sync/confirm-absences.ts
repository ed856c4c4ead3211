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

/**
 * One or two letters would match half of the list, but two Chinese characters may be a name, so bytes are counted. No address is as long
 * as a page of text.
 */
function isTelling(text: string | null): text is string {
  return text !== null && Buffer.byteLength(text.trim()) >= 3 && text.length <= 255
}

/** Searches the service for a text, and returns the first page of matches. */
export type Search = (text: string) => Promise<CustomersPage>

export type Searching = {
  search: Search
  /** Requests made so far; the searches may add a hundred, or `most` if that is less. */
  requestsMade: () => number
  most?: number | undefined
  /** Between 0 and 1. */
  random: () => number
  /** Asks for a page of the list, to tell a text that the service does not answer from a service that answers nothing. */
  askForPage: () => Promise<unknown>
  /** Aborting it ends the searches; customers found until then count. */
  signal: AbortSignal
  /** By which fields an absence is confirmed; by default by every one. */
  confirmedBy?: ConfirmedBy | undefined
  /** Whether a customer may be removed whose absence no search confirms, so that kinds of search which find no control are tried too. */
  everyKind?: boolean | undefined
}

/**
 * By which fields an absence is confirmed: by all that were searched, or by two where another one leaves it open; or by two in any case. A
 * customer that moved has changed in the field by which the list is sorted, so a search by that one misses the customer too.
 */
type ConfirmedBy = 'every field' | 'two fields'

/** How many listed customers each kind of search is tested with, so that one odd name does not fail the test. */
export const MOST_CONTROLS = 2

export const MOST_REQUESTS = 100

/**
 * Searches for each candidate by address, username and name, in the words the row has and those read before. A candidate in
 * any answer is `found`: that customer is listed. An absence is `confirmed` where an answer without the candidate is small
 * enough to be whole, and the same kind of search finds one of `controls`, who are known to be listed: by as many fields as
 * `confirmedBy` says. A kind of search that finds no control, or that the service refuses, is not used. With `everyKind`, a kind of search
 * that finds no control is used where no other one confirms the absence: the list may be the wrong one, and the controls with it. There only
 * a customer found proves anything. Where a hundred requests are not enough, a random sample is searched for, until one is found. A search
 * that is refused, or that fails while the service answers with a page of the list, says nothing about its customer: a firewall may take
 * the name for an attack. An outage postpones all of them.
 */
export async function confirmAbsences(
  candidates: readonly Candidate[],
  controls: readonly Listed[],
  searching: Searching,
): Promise<Searched> {
  const found = new Set<string>()
  const looking: Looking = {
    search: noting(found, candidates, searching),
    refused: 0,
    room: roomOf(searching),
    random: searching.random,
    found,
    isSample: false,
  }
  const [absent, unknown] = [new Set<string>(), new Set<string>()]
  const fates = { found, absent, unknown }
  let isPostponed = false
  try {
    const kinds = await tryKinds(candidates, controls, looking)
    await lookForEach(candidates, textsBy(kinds, ['works', 'unsure']), looking, async (candidate, texts) => {
      const fate = await lookFor(candidate, texts, { ...searching, kinds, looking })
      fates[fate].add(candidate.id)
    })
    const unconfirmed = candidates.filter(({ id }) => unknown.has(id))
    if (searching.everyKind === true && found.size === 0) await lookWithoutControl(unconfirmed, kinds, looking)
  } catch (error) {
    if (factsOf(error).from !== 'outage' && !searching.signal.aborted) throw error
    isPostponed = true
  }
  const { isSample, refused } = looking
  return { confirmed: absent.difference(found), found, refused, isSample, isPostponed }
}

/**
 * What the searches for candidates share. `isSample` becomes true when the requests do not suffice for all of them; `refused` counts the
 * searches without an answer.
 */
type Looking = {
  readonly search: (text: string) => Promise<CustomersPage | undefined>
  refused: number
  /** How many requests the searches may still make. */
  readonly room: () => number
  readonly random: () => number
  readonly found: ReadonlySet<string>
  isSample: boolean
}

/** Looks for each candidate that is not found yet, or for a random sample until one is found. */
async function lookForEach(
  candidates: readonly Candidate[],
  textsOf: (candidate: Candidate) => Text[],
  looking: Looking,
  look: (candidate: Candidate, texts: readonly Text[]) => Promise<void>,
): Promise<void> {
  const { room, random, found } = looking
  if (candidates.reduce((sum, candidate) => sum + textsOf(candidate).length, 0) > room()) looking.isSample = true
  for (const candidate of looking.isSample ? shuffled(candidates, random) : candidates) {
    const texts = textsOf(candidate)
    if (texts.length > room()) looking.isSample = true
    if (looking.isSample && (texts.length > room() || found.size > 0)) break
    if (!found.has(candidate.id)) await look(candidate, texts)
  }
}

/** Searches by the kinds that find no control. One that the service refuses as often as there are controls is not used any more. */
async function lookWithoutControl(candidates: readonly Candidate[], kinds: Kinds, looking: Looking): Promise<void> {
  const refused: Field[] = []
  const isRefused = (field: Field) => refused.filter((each) => each === field).length >= MOST_CONTROLS
  await lookForEach(candidates, textsBy(kinds, ['fails']), looking, async ({ id }, texts) => {
    for (const { field, text } of texts) {
      if (isRefused(field)) continue
      const answer = await answerTo(text, looking)
      if (answer === undefined) refused.push(field)
      else if (holds(answer, id)) return
    }
  })
}

/**
 * A search that adds every candidate in any of its answers to `found`, whatever the searched text. It has no answer where the service refuses
 * this text, or answers only others.
 */
function noting(
  found: Set<string>,
  candidates: readonly Candidate[],
  { search, askForPage }: Pick<Searching, 'search' | 'askForPage'>,
): Looking['search'] {
  const ids = new Set(candidates.map(({ id }) => id))
  return async (text) => {
    try {
      const page = await search(text)
      const records = page.records()
      for (const id of idsIn({ records })) if (ids.has(id)) found.add(id)
      return { ...page, records: () => records }
    } catch (error) {
      const { from, askAgain } = factsOf(error)
      const isAboutText = from === 'answer' || windowFailureOf(error) !== undefined
      if (!isAboutText && (from !== 'outage' || askAgain === 'wait')) throw error
      if (!isAboutText) await askForPage()
      return undefined
    }
  }
}

/**
 * Whether a kind of search finds customers known to be listed; `unsure` where more match than one page holds, `refused` where no
 * search is answered.
 */
type Kind = 'works' | 'unsure' | 'fails' | 'refused'
type Kinds = Record<Field, Kind>

type Answer = Pick<CustomersPage, 'total' | 'size'> & { records: readonly unknown[] }

/** The texts that are searched for by one of these kinds of search. */
function textsBy(kinds: Kinds, used: readonly Kind[]): (candidate: Candidate) => Text[] {
  return (candidate) => textsOfCandidate(candidate).filter(({ field }) => used.includes(kinds[field]))
}

async function tryKinds(
  candidates: readonly Candidate[],
  controls: readonly Listed[],
  looking: Looking,
): Promise<Kinds> {
  const kinds: Kinds = { email: 'fails', username: 'fails', name: 'fails' }
  const wanted = new Set(candidates.flatMap(textsOfCandidate).map(({ field }) => field))
  for (const field of FIELDS) if (wanted.has(field)) kinds[field] = await tryKind(field, controls, looking)
  return kinds
}

async function tryKind(field: Field, controls: readonly Listed[], looking: Looking): Promise<Kind> {
  const kinds = new Set<Kind>()
  for (const control of controls.slice(0, MOST_CONTROLS)) {
    const text = control[field]
    if (!isTelling(text)) continue
    const answer = await answerTo(text, looking)
    if (answer !== undefined && holds(answer, control.id)) return 'works'
    if (answer === undefined) kinds.add('refused')
    else kinds.add(isWhole(answer) ? 'fails' : 'unsure')
  }
  return (['unsure', 'fails', 'refused'] as const).find((kind) => kinds.has(kind)) ?? 'fails'
}

async function lookFor(
  { id }: Candidate,
  texts: readonly Text[],
  { kinds, looking, confirmedBy = 'every field' }: Pick<Searching, 'confirmedBy'> & { kinds: Kinds; looking: Looking },
): Promise<'found' | 'absent' | 'unknown'> {
  const confirming = new Set<Field>()
  const open = new Set<Field>()
  for (const { field, text } of texts) {
    const answer = await answerTo(text, looking)
    if (answer !== undefined && holds(answer, id)) return 'found'
    const confirms = kinds[field] === 'works' && answer !== undefined && isWhole(answer)
    ;(confirms ? confirming : open).add(field)
  }
  return isConfirmed(confirmedBy, confirming, open) ? 'absent' : 'unknown'
}

/** `open`: the fields of which a search leaves the absence open. A field may have several texts, so it may be in both. */
function isConfirmed(by: ConfirmedBy, confirming: ReadonlySet<Field>, open: ReadonlySet<Field>): boolean {
  const sure = confirming.difference(open).size
  return sure > 1 || (by === 'every field' && open.size === 0 && sure > 0)
}

/** The answer to a search; undefined, and counted, where there is none. */
async function answerTo(text: string, looking: Looking): Promise<Answer | undefined> {
  const page = await looking.search(text)
  if (page !== undefined) return { records: page.records(), total: page.total, size: page.size }
  looking.refused += 1
  return undefined
}

function isWhole({ records, total, size }: Answer): boolean {
  return records.length < size && total === records.length
}

function holds(answer: Pick<Answer, 'records'>, id: string): boolean {
  return idsIn(answer).includes(id)
}

function idsIn({ records }: Pick<Answer, 'records'>): string[] {
  return records.flatMap((record) => namedId(record) ?? [])
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
