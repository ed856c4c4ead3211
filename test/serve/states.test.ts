import { rmSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { Mirror } from '../../src/store/mirror.ts'
import { aMirrorOf, night } from '../store/nights.ts'
import { aCustomer, aPage, anEnding, customerId, customers, START_MS, DAY_MS } from '../support/builders.ts'
import { monotonicMs } from '../../src/machine/timers.ts'
import { eventually } from '../support/eventually.ts'
import { aSqliteMirror, publishedFrom } from '../support/full-mirror.ts'
import { sqliteAlone } from '../support/mirror-choice.ts'
import { aMirror, aMirrorFile, mirrorPages } from '../support/mirror-file.ts'
import { aPlan, publishAll } from '../support/publishing.ts'
import { aServe } from './a-served-mirror.ts'

type Served = Awaited<ReturnType<typeof aServe>>

/** Asks until an answer is as wanted: requests share a state of the mirror for a while. */
const until = (served: Served, pleases: (answer: Awaited<ReturnType<Served['ask']>>) => boolean) =>
  eventually(() => served.ask('/customers'), pleases)

const ready = async ({ get }: Served) => {
  const { status, text } = await get('/readyz')
  return [status, JSON.parse(text)]
}

test('a mirror that does not exist yet, and an organization whose list was never read to its end or that was retired, answer 503 with the reason, and are served once they can be', async () => {
  const file = aMirrorFile()
  const served = await aServe(file)
  const before = await served.ask('/customers')
  const unready = await ready(served)

  expect([before.status, before.error, before.headers.get('Retry-After')]).toEqual([503, 'unavailable', '10'])
  expect(before.message).toBe('There is no mirror yet. Ask again later.')
  expect(unready).toEqual([503, { ready: false, problems: ['There is no mirror yet.'] }])
  expect(before.text).not.toContain('/')

  const mirror = await aMirror(file)
  await mirrorPages(mirror, [customers(1, 3)], { ending: { status: 'failed', reasons: ['failed'], readToEnd: false } })
  await until(served, ({ status, message }) => status === 503 && message.includes('not read to its end'))
  await night(mirror, 1, customers(1, 3))
  const page = await until(served, ({ status }) => status === 200)
  expect([page.ids.length, page.meta.total]).toEqual([3, 3])
  expect(await ready(served)).toEqual([200, { ready: true, problems: [] }])
  await mirror.organizations.retire('acme', { nowMs: Date.now(), monotonicMs: monotonicMs() })
  const retired = await until(served, ({ status }) => status !== 200)
  expect([retired.status, retired.message]).toEqual([503, 'The organization acme was retired. Ask again later.'])
})

test('after each run pages and searches have who came, changed, left and returned, and how current they are', async () => {
  const mirror = await aMirror()
  const served = await aServe(mirror.file)
  const rule = { rule: { after: 1, maxShare: 1 } }
  const renamed = aCustomer(2, { name: 'Other Person', language: 'fr' })
  const nights = [
    [customers(1, 4), [1, 2, 3, 4], []],
    [[aCustomer(1), renamed, aCustomer(5)], [1, 2, 5], [2]],
    [[aCustomer(1), aCustomer(3), renamed], [1, 2, 3], [2]],
    [customers(1, 3), [1, 2, 3], []],
  ] as const
  for (const [n, [list, listed, found]] of nights.entries()) {
    await night(mirror, n, list, { ...rule, proof: n === 3 ? 'settled' : 'proven' })
    const asOf = new Date(START_MS + n * DAY_MS).toISOString()
    const page = await until(served, ({ headers }) => headers.get('X-Data-As-Of') === asOf)
    expect(page.ids).toEqual(listed.map((id) => customerId(id)))
    expect(page.headers.get('X-Proof')).toBe(n === 3 ? 'settled' : 'proven')
    expect((await served.ask('/customers?search=OTHER')).ids).toEqual(found.map((id) => customerId(id)))
    expect((await served.ask('/customers?language=fr')).ids).toEqual(found.map((id) => customerId(id)))
  }
})

test('a forgotten customer is on no page and found by no search any more', async () => {
  const mirror = await aMirrorOf([...customers(1, 3), aCustomer(4, { name: 'Private Person' })])
  const served = await aServe(mirror.file)
  expect((await served.ask('/customers?search=private')).ids).toEqual([customerId(4)])
  const clocks = { nowMs: Date.now(), monotonicMs: monotonicMs() }
  await mirror.forgetCustomer({ organization: 'acme', id: customerId(4), ...clocks })
  await until(served, ({ meta }) => meta.total === 3)

  for (const search of ['private', 'customer-4', customerId(4)])
    expect((await served.ask(`/customers?search=${search}`)).ids).toEqual([])
  // The number of the row may be given to another customer.
  await night(mirror, 2, [...customers(1, 3), aCustomer(5, { name: 'Next Person' })])
  await until(served, ({ meta }) => meta.total === 4)
  expect((await served.ask('/customers?search=private')).ids).toEqual([])
  expect((await served.ask('/customers?search=person')).ids).toEqual([customerId(5)])
})

test('customers are in the order of creation and then of ids, those without a time first, fractions of a second told apart', async () => {
  const at = (created: unknown) => ({ created_at: created })
  const inOrder = [
    ...[aCustomer(7, at(null)), aCustomer(8, at('long ago')), aCustomer(9, at(undefined))],
    ...[aCustomer(6, at('2023-12-31T23:59:59Z')), aCustomer(3, at('2024-01-02T03:04:05.000000Z'))],
    ...[aCustomer(5, at('2024-01-02T03:04:05.000000Z')), aCustomer(2, at('2024-01-02T03:04:05.000001Z'))],
    ...[aCustomer(4, at('2024-01-02T03:04:05.500000Z')), aCustomer(1, at('2024-01-02T03:04:06.000000Z'))],
  ]
  const mirror = await aMirrorOf(inOrder.toReversed())
  const { allIds } = await aServe(mirror.file)

  for (const size of [1, 2, 100]) expect(await allIds(size)).toEqual(inOrder.map(({ id }) => id))
})

test('many requests at once, while runs write: each page is from one state, and none fails', async () => {
  const list = (n: number) => customers(1, 300).map((sent) => ({ ...sent, company_name: `State ${n}` }))
  const mirror = await aMirrorOf(list(0))
  const served = await aServe(mirror.file)
  const written = new AbortController()
  const seen = new Set<unknown>()
  const asking = Array.from({ length: 8 }, async (_, client) => {
    while (!written.signal.aborted) {
      const search = client % 2 === 0 ? '' : '&search=customer'
      const { status, data, meta, headers } = await served.ask(
        `/customers?per_page=100&page=${1 + (client % 3)}${search}`,
      )
      const states = new Set(data.map(({ company_name: company }) => company))
      expect([status, meta.total, data.length, states.size]).toEqual([200, 300, 100, 1])
      expect(headers.get('X-Data-As-Of')).toMatch(/^2026-/)
      for (const state of states) seen.add(state)
    }
  })
  for (let n = 1; n < 6; n += 1) await inOneTransaction(mirror, n, list(n))
  await until(served, ({ data }) => data[0]?.['company_name'] === 'State 5')
  written.abort()
  await Promise.all(asking)

  expect([...seen]).toContain('State 5')
})

/** A run that saves all its pages at once, so that each state of the mirror has one state of the list. */
async function inOneTransaction(mirror: Mirror, n: number, list: readonly unknown[]): Promise<void> {
  const atMs = START_MS + n * DAY_MS
  const run = await mirror.startRun({ organization: 'acme', trigger: 'sync', nowMs: atMs })
  await mirror.savePages(run, [aPage(1, list)], atMs)
  await mirror.finishRun(run, anEnding({}), atMs)
}

test.skipIf(sqliteAlone.readersOfTheFile)('each copy is served, until one lacks personal data or is gone', async () => {
  const mirror = await aSqliteMirror()
  await night(mirror, 0, customers(1, 3))
  const copy = publishedFrom(mirror)
  const served = await aServe(copy)
  expect((await served.ask('/customers?search=customer-2')).ids).toEqual([customerId(2)])
  expect(Object.keys((await served.ask('/customers')).data[0] ?? {}).toSorted()).toEqual(
    Object.keys(aCustomer(1)).toSorted(),
  )

  await night(mirror, 1, [...customers(1, 3), aCustomer(22)])
  publishedFrom(mirror, copy)
  expect((await until(served, ({ meta }) => meta.total === 4)).headers.get('X-Data-As-Of')).toBe(
    new Date(START_MS + DAY_MS).toISOString(),
  )
  expect((await served.ask('/customers?search=customer-2')).ids).toEqual([customerId(2), customerId(22)])
  publishAll(aPlan(mirror.file, { file: copy, withoutPersonalData: true }))
  const refused =
    'The mirror is a copy without personal data, which has nothing to serve. Name another one. Ask again later.'
  const { message } = await until(served, ({ status }) => status !== 200)
  expect([message, (await ready(served))[0]]).toEqual([refused, 503])
  rmSync(copy)
  await until(served, (answer) => answer.message === 'There is no mirror yet. Ask again later.')
})
