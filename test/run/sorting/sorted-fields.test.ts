import { expect, test } from 'vitest'
import { fieldsToFind, SortedFields } from '../../../src/run/sorting/sorted-fields.ts'
import { dice } from '../../support/dice.ts'

type Sent = Record<string, unknown>

const LUCK = dice(7)
const GIVEN = ['Anna', 'bob', 'Çelik', 'Dora', 'émile', 'Frida', 'Güler', 'Hans', 'Ida', 'Jonas', "O'Neil", 'zoë']
const SURNAMES = ['Adler', 'de Boer', 'Müller', 'Muller', "O'Hara", 'Smith', 'von Zimmer', 'Żak', 'Ångström', 'Zimmer']
const one = <Value>(values: readonly Value[]): Value | undefined => values[LUCK.below(values.length)]

/** Customers in an order that shows nowhere. */
const PEOPLE: Sent[] = Array.from({ length: 1200 }, (_, at) => {
  const name = `${one(GIVEN)} ${one(SURNAMES)}`
  return {
    id: `${at}`,
    created_at: '2026-01-01T00:00:00Z',
    name,
    username: `user${LUCK.below(1e6)}`,
    email: `${name.toLowerCase().replaceAll(/[^a-z]/g, '.')}${at % 7}@${one(['example.com', 'mail.example', 'post.example'])}`,
    language: LUCK.chance(0.9) ? 'de' : 'en',
    points: LUCK.below(5000),
    address: null,
  }
})

test('in an order that shows nowhere every field is ruled out, also one with a single value', () => {
  expect(factsOf(PEOPLE)).toEqual({
    ruledOut: ['name', 'username', 'email', 'language', 'extra', 'address'],
    left: [],
  })
})

const ENGLISH = new Intl.Collator('en')
const POSTGRES = new Intl.Collator('de', { ignorePunctuation: true, caseFirst: 'upper' })
const text = (sent: Sent, field: string) => String(sent[field])

test.each<[string, string, (one: Sent, other: Sent) => number]>([
  ['name, by code units', 'name', (a, b) => (text(a, 'name') < text(b, 'name') ? -1 : 1)],
  ['name, without case', 'name', (a, b) => (text(a, 'name').toLowerCase() < text(b, 'name').toLowerCase() ? -1 : 1)],
  ['name, as people sort', 'name', (a, b) => ENGLISH.compare(text(a, 'name'), text(b, 'name'))],
  ['name, in another language', 'name', (a, b) => POSTGRES.compare(text(a, 'name'), text(b, 'name'))],
  [
    'surname',
    'name',
    (a, b) => ENGLISH.compare(text(a, 'name').split(' ').at(-1)!, text(b, 'name').split(' ').at(-1)!),
  ],
  ['username', 'username', (a, b) => ENGLISH.compare(text(a, 'username'), text(b, 'username'))],
  [
    'host of the e-mail address',
    'email',
    (a, b) => ENGLISH.compare(text(a, 'email').split('@')[1]!, text(b, 'email').split('@')[1]!),
  ],
  [
    'language, then nothing that shows',
    'language',
    (a, b) => ENGLISH.compare(text(a, 'language'), text(b, 'language')),
  ],
  ['a number that the specification does not know', 'extra', (a, b) => Number(a['points']) - Number(b['points'])],
])('a list by %s may be sorted by that field, upward and downward', (_, field, order) => {
  expect(factsOf(PEOPLE.toSorted(order))?.left).toContain(field)
  expect(factsOf(PEOPLE.toSorted((a, b) => order(b, a)))?.left).toContain(field)
})

test('equal values that stand together may be the order, whatever the order of these values is', () => {
  const companies = Array.from({ length: 150 }, () => `Company ${LUCK.below(1e6)}`)
  const some: Sent[] = PEOPLE.map((sent) => ({ ...sent, company_name: one(companies) }))
  const numberOf = (sent: Sent) => companies.indexOf(text(sent, 'company_name'))

  expect(factsOf(some)?.ruledOut).toContain('company_name')
  expect(factsOf(some.toSorted((a, b) => numberOf(a) - numberOf(b)))?.left).toEqual(['company_name'])
})

test('a list by a field of an object in the record, or of one in that, may be sorted by it', () => {
  const inCompany = PEOPLE.map(({ name, points, ...sent }) => ({ ...sent, company: { name, account: { points } } }))
  const byName = inCompany.toSorted((a, b) => ENGLISH.compare(String(a.company.name), String(b.company.name)))
  const byPoints = inCompany.toSorted((a, b) => Number(a.company.account.points) - Number(b.company.account.points))

  expect(factsOf(inCompany)?.left).toEqual([])
  expect(factsOf(byName)?.left).toEqual(['extra'])
  expect(factsOf(byPoints)?.left).toEqual(['extra'])
})

test('missing values that stand together at either end may be the order, and scattered ones are not', () => {
  const some = PEOPLE.map((sent, at) => ({
    ...sent,
    company_name: at % 50 === 0 ? `Company ${LUCK.below(1e6)}` : null,
  }))
  const company = (sent: Sent) => (sent['company_name'] === null ? '\uffff' : text(sent, 'company_name'))
  const byCompany = (a: Sent, b: Sent) => ENGLISH.compare(company(a), company(b))

  expect(factsOf(some)?.ruledOut).toContain('company_name')
  expect(factsOf(some.toSorted(byCompany))?.left).toEqual(['company_name'])
})

test('what stands on the first pages only is not taken for the whole list', () => {
  const byLanguage = PEOPLE.map((sent, at) => ({ ...sent, language: at < 900 ? 'de' : 'en' }))

  expect(factsOf(byLanguage)?.left).toEqual(['language'])
})

test('nothing is said of a list of which parts were not looked at', () => {
  const fields = new SortedFields()
  fields.observe(pageOf(PEOPLE, 1))

  expect(fields.facts).toEqual({})
})

test.each([
  ['half of its pages', 4, undefined],
  ['one page more than that', 5, []],
])('something is said of a list as soon as more than half of it was looked at: %s', (_, between, left) => {
  const fields = new SortedFields()
  for (const page of [1, 12, ...[3, 5, 7, 9, 11].slice(0, between)]) fields.observe(pageOf(PEOPLE, page))

  expect(fields.facts.fields?.left).toEqual(left)
})

test('records that are no objects, a page that cannot be parsed and a page that is too large are passed over', () => {
  const fields = new SortedFields()
  fields.observe({ ...pageOf(PEOPLE, 1), bytes: 2e6 })
  fields.observe({ ...pageOf(PEOPLE, 2), records: () => ['odd', null, 7] })
  fields.observe({
    ...pageOf(PEOPLE, 3),
    records: () => {
      throw new Error('not JSON')
    },
  })

  expect(fields.facts).toEqual({})
})

test('the names of fields that the specification does not know are kept to itself', () => {
  expect(JSON.stringify(factsOf(PEOPLE))).not.toContain('points')
})

test('a service that sends a new field in every record is not followed', () => {
  expect(factsOf(PEOPLE.map((sent, at) => ({ ...sent, [`field${at}`]: at })))).toBeUndefined()
})

test('fields are looked at once, and now and then where one was left although the customers keep their places', () => {
  expect(fieldsToFind({})).toBeDefined()
  expect(fieldsToFind({ fields: { ruledOut: ['name'], left: [] }, still: 3 })).toBeUndefined()
  const again = Array.from({ length: 20 }, (_, still) => still).filter((still) =>
    fieldsToFind({ fields: { ruledOut: [], left: ['name'] }, still }),
  )
  expect(again).toEqual([1, 9, 17])
})

function factsOf(list: readonly Sent[]) {
  const fields = new SortedFields()
  for (let page = 1; page <= Math.ceil(list.length / 100); page += 1) fields.observe(pageOf(list, page))
  return fields.facts.fields
}

function pageOf(list: readonly Sent[], page: number) {
  const records = () => list.slice(100 * (page - 1), 100 * page)
  return { page, size: 100, total: list.length, bytes: 20_000, records }
}
