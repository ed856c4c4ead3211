import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { mirrorOrganization, type Progress } from '../../src/sync/mirror-organization.ts'
import { customerId, customers, type SentRecord, START_MS } from '../support/builders.ts'
import {
  listedSource,
  mirroring,
  movingClock,
  namesOf,
  pageOfList,
  type PageSource,
  sourceOf,
  storedNames,
} from '../support/listed-source.ts'
import { sqliteAlone } from '../support/mirror-choice.ts'
import { aMirror, rowsOf, tamper, valueOf } from '../support/mirror-file.ts'

test('a whole list is mirrored, page by page, and the report counts it', async () => {
  const mirror = await aMirror()
  const list = customers(1, 95)
  const source = listedSource(list)

  const { report, error } = await mirrorOrganization(mirroring(mirror, source, { trigger: 'schedule' }))

  expect(error).toBeUndefined()
  expect(report).toMatchObject({
    ...{ organization: 'acme', trigger: 'schedule', status: 'complete', proof: 'unproven', reasons: ['plain-scan'] },
    ...{ requests: 10, pages: 10, received: 95, inserted: 95, readAsOfMs: START_MS },
  })
  expect(storedNames(mirror)).toEqual(namesOf(list))
  expect(source.asked.map(({ page }) => page).toSorted((a, b) => a - b)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
  expect(await mirror.listRuns({ limit: 5 })).toEqual([report])
})

test('an empty list is a complete run without customers', async () => {
  const mirror = await aMirror()

  const { report } = await mirrorOrganization(mirroring(mirror, listedSource([])))

  expect(report).toMatchObject({ status: 'complete', requests: 1, pages: 1, received: 0 })
})

test.each([
  [11, 'failed'],
  [10, 'complete'],
])('an initial sync of 20 records of which %d are no customers is %s', async (count, status) => {
  const mirror = await aMirror()
  const list = [...customers(1, count, { name: {} }), ...customers(count + 1, 20)]

  const { report } = await mirrorOrganization(mirroring(mirror, listedSource(list)))

  expect(report).toMatchObject({ status, rejected: count, inserted: 20 - count })
  expect(report.error?.code).toBe(status === 'failed' ? 'bad-answer' : undefined)
  if (status === 'failed') expect(report.error?.message).toContain("'customer-mirror rejects' shows")
})

test.each([1, 2, 7])(
  'at most %d pages are requested at once, and as many if the list has enough',
  async (concurrency) => {
    let underWay = 0
    let most = 0
    const source = sourceOf(async (window) => {
      underWay += 1
      most = Math.max(most, underWay)
      for (let turn = 0; turn <= window.page % 3; turn += 1) await setImmediate()
      underWay -= 1
      return pageOfList(customers(1, 300), window)
    })

    await mirrorOrganization(mirroring(await aMirror(), source, { concurrency }))

    expect(most).toBe(concurrency)
    expect(underWay).toBe(0)
  },
)

test('a list that seems to have become empty while it is read is not believed, and keeps what was read', async () => {
  const source: PageSource = listedSource(() => (source.counters.requests > 2 ? [] : customers(1, 100)))
  const mirror = await aMirror()

  const { report } = await mirrorOrganization(mirroring(mirror, source, { concurrency: 1, now: movingClock() }))

  expect(report).toMatchObject({ status: 'failed', error: { code: 'page-mismatch' }, received: 20 })
  expect(storedNames(mirror)).toHaveLength(20)
})

test('progress is reported after each save and never runs ahead of the mirror', async () => {
  const mirror = await aMirror()
  const told: Progress[] = []
  const onProgress = (progress: Progress) => {
    expect(valueOf(mirror.file, 'SELECT received FROM runs')).toBe(progress.customers)
    told.push(progress)
  }

  const { error } = await mirrorOrganization(mirroring(mirror, listedSource(customers(1, 95)), { onProgress }))

  expect(error).toBeUndefined()
  expect(told.at(-1)).toEqual({ organization: 'acme', customers: 95, readBefore: 0, total: 95, pages: 10 })
  expect(told.map(({ pages }) => pages)).toEqual(told.map(({ pages }) => pages).toSorted((a, b) => a - b))
})

test.skipIf(sqliteAlone.unseenReplace)(
  'a run fails where customers were replaced by hand in the mirror, which do not count as absent, and the next one repairs them',
  async () => {
    const mirror = await aMirror()
    const night = (list: SentRecord[], atMs: number) =>
      mirrorOrganization(mirroring(mirror, listedSource(list), { scan: 'chain', now: () => START_MS + atMs }))
    for (const atMs of [0, 1000]) await night(customers(1, 30), atMs)
    const [columns] = rowsOf(mirror.file, `SELECT group_concat(name) AS names FROM pragma_table_info('customers')`)
    const kept = String(columns?.['names'])
    const edited = kept.replace('row_id', '1000').replace(',name', `,'Edited'`)
    tamper(mirror.file, `REPLACE INTO customers (${kept}) SELECT ${edited} FROM customers WHERE id = ?`, customerId(5))

    const first = await night(customers(1, 29), 2000)
    const second = await night(customers(1, 29), 3000)

    expect(first.report).toMatchObject({ error: { code: 'replaced' }, missing: 0, removed: 0 })
    expect(second.report).toMatchObject({ proof: 'proven', missing: 1, removed: 0, updated: 1 })
    expect(storedNames(mirror)[4]).toBe('Customer 5')
  },
)
