import { expect, test } from 'vitest'
import { RateLimited, SourceRefused } from '../../src/errors/errors.ts'
import type { Candidate, Listed } from '../../src/model/run.ts'
import { confirmAbsences, type Search, type Searching } from '../../src/sync/confirm-absences.ts'
import { aCustomer, customerId, customers, type SentRecord } from '../support/builders.ts'
import { dice } from '../support/dice.ts'
import { pageOfList } from '../support/listed-source.ts'
import { anAbsentCustomer, CONTROL, searchedSource } from '../support/mirrored-sandbox.ts'

test('where the control is found under another id no absence is confirmed, and no other customer is searched for', async () => {
  const { asked, search } = searchOf([aCustomer(2, { email: CONTROL.email })])

  const searched = await confirmAbsences([anAbsentCustomer(8), anAbsentCustomer(9)], [CONTROL], searchingBy(search))

  expect(searched.confirmed).toEqual(new Set())
  expect(asked).toEqual([CONTROL.email, CONTROL.username].filter((text) => text !== null))
})

test.each([
  ['fills its page', 100, 100],
  ['says that there are more', 3, 4],
  ['does not say how many there are', 3, undefined],
  ['says that there are fewer', 3, 2],
])('an answer that %s may be incomplete, and confirms no absence', async (_, length, total) => {
  const search: Search = async (text) => {
    if (text === CONTROL.email) return pageOfList([aCustomer(1)], { page: 1, size: 100 })
    return { ...pageOfList(customers(101, 100 + length), { page: 1, size: 100 }), total }
  }

  const searched = await confirmAbsences([anAbsentCustomer(9)], [CONTROL], searchingBy(search))

  expect(searched.confirmed).toEqual(new Set())
})

test('no more than a hundred requests are made, those for controls included, and they go to a random sample', async () => {
  const candidates = Array.from({ length: 250 }, (_, index) => anAbsentCustomer(1000 + index))
  const samples = [1, 2].map(async (seed) => {
    const { asked, search } = searchOf(customers(1, 5))
    const drawn = dice(seed)
    const random = () => drawn.next()
    const searched = await confirmAbsences(candidates, [CONTROL], searchingBy(search, { random }))

    expect(asked).toHaveLength(100)
    expect(asked.filter((text) => text === CONTROL.email)).toHaveLength(1)
    expect(searched).toMatchObject({ found: new Set(), isSample: true, isPostponed: false })
    expect(searched.confirmed.size).toBe(49)
    return searched.confirmed
  })

  const [one, other] = await Promise.all(samples)
  expect(one).not.toEqual(other)
})

test('a rate limit postpones removals, although the service still answers with pages of the list', async () => {
  const { asked, search } = searchOf(customers(1, 5))
  const limited = new RateLimited('too many requests', { code: 'rate-limited', status: 429, waitMs: 3_600_000 })
  const failing: Search = (text) => (asked.length === 4 ? Promise.reject(limited) : search(text))

  const searched = await confirmAbsences([anAbsentCustomer(3), anAbsentCustomer(9)], [CONTROL], searchingBy(failing))

  expect(searched).toMatchObject({ refused: 0, isPostponed: true })
})

test('a defect during the searches is no outage', async () => {
  const defect = new TypeError('a defect')

  const failing = searchingBy(() => Promise.reject(defect))

  await expect(confirmAbsences([anAbsentCustomer(9)], [CONTROL], failing)).rejects.toBe(defect)
})

const WELL_KNOWN: Listed = { ...CONTROL, name: 'Customer 1' }
const REFUSED = new SourceRefused('422', { code: 'unprocessable', status: 422 })
const NAMED = { name: 'Customer 9', username: 'customer-9', email: 'customer-9@example.com' }
const [EMAIL, USERNAME, NAME] = [NAMED.email, NAMED.username, NAMED.name]
const NO_USERNAME = { ...NAMED, username: null }
const RENAMED = { ...NO_USERNAME, earlier: [{ name: null, username: null, email: 'earlier' }] }

/** What the service answers to a text: the matches, too many to be whole, or a refusal. */
type Special = Record<string, 'too many' | 'refused'>
const MANY_LIKE_CONTROL: Special = { 'customer-1@example.com': 'too many' }

test.each<[string, Special, Listed, Partial<Candidate>, boolean]>([
  ['by two fields, with too many matches for the third', { [NAME]: 'too many' }, WELL_KNOWN, NAMED, true],
  ['by one, with too many for the others', { [NAME]: 'too many', [USERNAME]: 'too many' }, WELL_KNOWN, NAMED, false],
  ['by one field, refused for another', { [EMAIL]: 'refused' }, WELL_KNOWN, NO_USERNAME, false],
  ['by one field, where the others find no control', {}, { ...CONTROL, username: null }, NAMED, true],
  ['by one field, with no other value', {}, WELL_KNOWN, { ...NAMED, username: null, email: null }, true],
  ['by one, with too many for the control of another', MANY_LIKE_CONTROL, WELL_KNOWN, NO_USERNAME, false],
  ['by two fields, one of them not in its earlier words', { earlier: 'refused' }, WELL_KNOWN, RENAMED, false],
])('after a settled scan, an absence confirmed %s', async (_, special, control, fields, isConfirmed) => {
  const search = searchWith(special)
  const searching = searchingBy(search, { confirmedBy: 'every field' })
  const searched = await confirmAbsences([anAbsentCustomer(9, fields)], [control], searching)

  expect(searched.confirmed).toEqual(new Set(isConfirmed ? [customerId(9)] : []))
  expect(searched.found).toEqual(new Set())
})

const EVERY_KIND = { everyKind: true } as const

test('where no confirmation is needed, a customer is found in any answer, for another one or where no control is found', async () => {
  const { asked, search: others } = searchOf(customers(3, 4))
  const search: Search = (text) => others(text.replace('customer-9@', 'customer-4@'))
  const candidates = [anAbsentCustomer(3), anAbsentCustomer(9), anAbsentCustomer(4)]

  const searched = await confirmAbsences(candidates, [CONTROL], searchingBy(search, EVERY_KIND))

  const found = new Set([customerId(3), customerId(4)])
  expect(searched).toEqual({ confirmed: new Set(), found, refused: 0, isSample: false, isPostponed: false })
  expect(asked).toHaveLength(2 + 1 + 2)
})

test('a customer that the kind of search which works leaves open is looked for by another kind', async () => {
  const { search } = searchOf([aCustomer(1), aCustomer(9, { email: 'other@example.com' })])
  const unsure: Search = async (text) =>
    text === 'customer-9@example.com' ? pageOfList(customers(101, 200), { page: 1, size: 100 }) : search(text)
  const control = { ...CONTROL, username: 'not listed' }

  const searched = await confirmAbsences([anAbsentCustomer(9)], [control], searchingBy(unsure, EVERY_KIND))

  expect(searched.found).toEqual(new Set([customerId(9)]))
})

/** Searches a list of five, with other answers to some texts. */
function searchWith(special: Special): Search {
  const { search } = searchOf(customers(1, 5))
  return async (text) => {
    if (special[text] === 'refused') throw REFUSED
    if (special[text] === 'too many') return pageOfList(customers(101, 200), { page: 1, size: 100 })
    return search(text)
  }
}

/** Searches of which each is one request. */
function searchingBy(search: Search, overrides: Partial<Searching> = {}): Searching {
  let requests = 0
  const counting: Search = (text) => {
    requests += 1
    return search(text)
  }
  const { signal } = new AbortController()
  const askForPage = async () => {}
  return { search: counting, askForPage, requestsMade: () => requests, random: () => 0, signal, ...overrides }
}

/** A search as the service does it: any part of a name, username or e-mail, in any case. */
function searchOf(list: readonly SentRecord[]): { asked: string[]; search: Search } {
  const { source, texts } = searchedSource({ shown: list })
  const { signal } = new AbortController()
  return { asked: texts, search: (text) => source.search(text, { size: 100, signal }) }
}
