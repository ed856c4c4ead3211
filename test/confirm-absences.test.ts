import { expect, test } from 'vitest'
import { confirmAbsences, type Search } from '../src/confirm-absences.ts'
import { ContractBroken, SourceRefused, SourceUnavailable } from '../src/errors.ts'
import { mirrorOrganization } from '../src/mirror-organization.ts'
import type { Listed } from '../src/mirror/listed.ts'
import type { Absent } from '../src/mirror/removals.ts'
import { aCustomer, customerId, customers, MINUTE_MS, START_MS, type SentRecord } from './support/builders.ts'
import { pageOfList, sourceOf } from './support/listed-source.ts'
import { aMirror, rowsOf } from './support/mirror-file.ts'
import { mirroring } from './support/mirroring.ts'

const CONTROL: Listed = { id: customerId(1), username: 'customer-1', email: 'customer-1@example.com' }

test('an absence is confirmed where a search does not find the customer, and finds the control', async () => {
  const { asked, search } = searchOf(customers(1, 5))

  expect(await confirmAbsences([absent(9)], CONTROL, search)).toEqual(new Set([customerId(9)]))
  expect(asked).toEqual(['customer-1@example.com', 'customer-9@example.com'])
})

test('a customer that the search does find is not confirmed, whatever else is', async () => {
  const { search } = searchOf(customers(1, 5))

  expect(await confirmAbsences([absent(3), absent(9), absent(4)], CONTROL, search)).toEqual(new Set([customerId(9)]))
})

test.each<[string, SentRecord[]]>([
  ['in upper case', [aCustomer(1), aCustomer(9, { id: customerId(9).toUpperCase() })]],
  ['with another name', [aCustomer(1), aCustomer(9, { name: 'Renamed' })]],
  ['among records that are none', [aCustomer(1), aCustomer(9), aCustomer(9, { id: 7 })]],
])('a customer whose id comes %s is found', async (_, list) => {
  expect(await confirmAbsences([absent(9)], CONTROL, searchOf(list).search)).toEqual(new Set())
})

test('a control whose id comes in upper case is found', async () => {
  const { search } = searchOf([aCustomer(1, { id: customerId(1).toUpperCase() })])

  expect(await confirmAbsences([absent(9)], CONTROL, search)).toEqual(new Set([customerId(9)]))
})

test('somebody else at the same address does not stand for the customer', async () => {
  const { search } = searchOf([aCustomer(1), aCustomer(2, { email: 'customer-9@example.com' })])

  expect(await confirmAbsences([absent(9)], CONTROL, search)).toEqual(new Set([customerId(9)]))
})

test.each<[string, Listed | undefined, SentRecord[]]>([
  ['there is no control', undefined, customers(1, 5)],
  ['the control is not found', CONTROL, customers(2, 5)],
  ['the control is found under another id', CONTROL, [aCustomer(2, { email: CONTROL.email })]],
  ['the control has no address to be searched by', { ...CONTROL, email: null }, customers(1, 5)],
])('where %s nobody is confirmed, and nobody else is searched for', async (_, control, list) => {
  const { asked, search } = searchOf(list)

  expect(await confirmAbsences([absent(8), absent(9)], control, search)).toEqual(new Set())
  expect(asked.filter((text) => text !== control?.email)).toEqual([])
})

test('a control with an empty address is no control: searching for nothing finds everybody, and proves nothing', async () => {
  const broken: Search = async (text) => pageOfList(text === '' ? customers(1, 5) : [], { page: 1, size: 100 })

  expect(await confirmAbsences([absent(9)], { ...CONTROL, email: '' }, broken)).toEqual(new Set())
})

test.each([
  ['fills its page', 100, 100],
  ['says that there are more', 3, 4],
  ['does not say how many there are', 3, undefined],
  ['says that there are fewer', 3, 2],
])('an answer that %s need not be whole, and confirms nobody', async (_, length, total) => {
  const search: Search = async (text) => {
    if (text === CONTROL.email) return pageOfList([aCustomer(1)], { page: 1, size: 100 })
    return { ...pageOfList(customers(101, 100 + length), { page: 1, size: 100 }), total }
  }

  expect(await confirmAbsences([absent(9)], CONTROL, search)).toEqual(new Set())
})

test('whether an answer is whole is measured by the size the service serves, not the one that was asked for', async () => {
  const search: Search = async (text) => {
    const list = text === CONTROL.email ? [aCustomer(1)] : customers(101, 150)
    return pageOfList(list, { page: 1, size: 100 }, { cap: 50 })
  }

  expect(await confirmAbsences([absent(9)], CONTROL, search)).toEqual(new Set())
})

test.each<[string, Partial<Absent>]>([
  ['without an address', { email: null }],
  ['with an empty address', { email: '' }],
  ['with an address of two letters', { email: ' ab ' }],
])('a customer %s is searched for by username, with a control of its own', async (_, fields) => {
  const { asked, search } = searchOf(customers(1, 5))

  expect(await confirmAbsences([absent(9, fields)], CONTROL, search)).toEqual(new Set([customerId(9)]))
  expect(asked).toEqual(['customer-1', 'customer-9'])
})

test('a search that works for usernames only confirms by username only', async () => {
  const list = customers(1, 5)
  const search: Search = async (text) => {
    return pageOfList(
      list.filter(({ username }) => username === text),
      { page: 1, size: 100 },
    )
  }

  const confirmed = await confirmAbsences([absent(8), absent(9, { email: null })], CONTROL, search)

  expect(confirmed).toEqual(new Set([customerId(9)]))
})

test('a customer with nothing to be searched by is never confirmed', async () => {
  const { asked, search } = searchOf(customers(1, 5))

  expect(await confirmAbsences([absent(9, { email: null, username: 'x' })], CONTROL, search)).toEqual(new Set())
  expect(asked).toEqual([])
})

test('where nobody is absent nothing is searched for', async () => {
  const { asked, search } = searchOf(customers(1, 5))

  expect(await confirmAbsences([], CONTROL, search)).toEqual(new Set())
  expect(asked).toEqual([])
})

test('the control is searched for once, and no more than a hundred absences are looked into', async () => {
  const { asked, search } = searchOf(customers(1, 5))
  const candidates = Array.from({ length: 250 }, (_, index) => absent(1000 + index))

  const confirmed = await confirmAbsences(candidates, CONTROL, search)

  expect(asked).toHaveLength(101)
  expect(asked.filter((text) => text === CONTROL.email)).toHaveLength(1)
  expect(confirmed).toEqual(new Set(candidates.slice(0, 100).map(({ id }) => id)))
})

test('those without a text to search for do not use up the searches of others', async () => {
  const { search } = searchOf(customers(1, 5))
  const silent = Array.from({ length: 100 }, (_, index) => absent(2000 + index, { email: null, username: null }))

  expect(await confirmAbsences([...silent, absent(9)], CONTROL, search)).toEqual(new Set([customerId(9)]))
})

test.each([
  ['500', new SourceUnavailable('500 at every attempt', { code: 'server-error', status: 500 })],
  ['422', new SourceRefused('422', { code: 'unprocessable', status: 422 })],
  ['404', new SourceRefused('404', { code: 'not-found', status: 404 })],
  ['something else', new ContractBroken('page 2 was answered instead', { code: 'page-mismatch' })],
])('a service that answers a search with %s removes nobody, and the run ends as its scan did', async (_, failure) => {
  const mirror = await aMirror()
  const night = (n: number, list: readonly unknown[]) => {
    const now = () => START_MS + n * 60 * MINUTE_MS
    // Without the sizes in between pages cannot overlap, so the scan can only converge.
    const refused = new SourceRefused('422', { code: 'unprocessable', status: 422 })
    const source = sourceOf(
      async (window) => {
        if (![100, 50].includes(window.size)) throw refused
        return pageOfList(list, window)
      },
      () => Promise.reject(failure),
    )
    return mirrorOrganization(mirroring(mirror, source, { scan: 'chain', pageSize: 100, now }))
  }
  await night(1, customers(1, 300))
  for (const n of [2, 3]) {
    const { report } = await night(n, customers(2, 300))
    expect(report).toMatchObject({ status: 'complete', proof: 'converged', missing: 1, removed: 0 })
  }
  expect(rowsOf(mirror.file, 'SELECT id FROM customers WHERE removed_at IS NOT NULL')).toEqual([])
})

function absent(n: number, fields: Partial<Absent> = {}): Absent {
  const address = { username: `customer-${n}`, email: `customer-${n}@example.com` }
  return { rowId: n, id: customerId(n), ...address, missingProven: 0, missingScans: 1, ...fields }
}

/** A search as the service does it: any part of a name, username or e-mail, in any case. */
function searchOf(list: readonly SentRecord[]): { asked: string[]; search: Search } {
  const asked: string[] = []
  return {
    asked,
    search: async (text) => {
      asked.push(text)
      const isFound = ({ name, username, email }: SentRecord) =>
        [name, username, email].some((value) => String(value).toLowerCase().includes(text.toLowerCase()))
      return pageOfList(list.filter(isFound), { page: 1, size: 100 })
    },
  }
}
