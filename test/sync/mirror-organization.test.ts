import { expect, onTestFinished, test, vi } from 'vitest'
import { mirrorOrganization } from '../../src/sync/mirror-organization.ts'
import type { Progress } from '../../src/sync/read-list.ts'
import { makeNight, listedSource, mirroring, pageOfList, sourceOf, storedNames } from '../support/listed-source.ts'
import { customerId, customers, MINUTE_MS, type SentRecord, START_MS } from '../support/builders.ts'
import { sqliteAlone } from '../support/mirror-choice.ts'
import { aMirror, rowsOf, tamper, valueOf } from '../support/mirror-file.ts'
import { OrganizationLeased } from '../../src/errors/errors.ts'

test.each([
  [11, 'failed', 20],
  [10, 'complete', 20],
  [0, 'complete', 0],
])('an initial sync of records of which %d are no customers is %s, of %d', async (count, status, size) => {
  const mirror = await aMirror()
  const list = [...customers(1, count, { name: {} }), ...customers(count + 1, size)]

  const { report } = await mirrorOrganization(mirroring(mirror, listedSource(list)))

  expect(report).toMatchObject({ status, rejected: count, inserted: size - count, requests: 1 + size / 10 })
  expect(report.error?.code).toBe(status === 'failed' ? 'bad-answer' : undefined)
  if (status === 'failed') expect(report.error?.message).toContain("'customer-mirror rejects' shows")
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
    const night = (n: number, list: SentRecord[]) => makeNight(mirror, n, { list, told: { scan: 'chain' } })
    for (const n of [0, 1]) await night(n, customers(1, 30))
    const [columns] = rowsOf(mirror.file, `SELECT group_concat(name) AS names FROM pragma_table_info('customers')`)
    const kept = String(columns?.['names'])
    const edited = kept.replace('row_id', '1000').replace(',name', `,'Edited'`)
    tamper(mirror.file, `REPLACE INTO customers (${kept}) SELECT ${edited} FROM customers WHERE id = ?`, customerId(5))

    const first = await night(2, customers(1, 29))
    const second = await night(3, customers(1, 29))

    expect(first.report).toMatchObject({ error: { code: 'replaced' }, missing: 0, removed: 0 })
    expect(second.report).toMatchObject({ proof: 'proven', missing: 1, removed: 0, updated: 1 })
    expect(storedNames(mirror)[4]).toBe('Customer 5')
  },
)

test('a run that waits long is not taken over while it lives', async () => {
  const mirror = await aMirror()
  const other = await aMirror(mirror.file)
  const clock = aClock()
  let second: Promise<unknown> = Promise.resolve()
  const source = sourceOf(async (window, { signal }) => {
    if (window.page === 2) {
      await clock.pass(10 * MINUTE_MS, signal)
      second = other.startRun({ organization: 'acme', trigger: 'sync', nowMs: clock.now() })
      await Promise.allSettled([second])
    }
    return pageOfList(customers(1, 20), window)
  })

  const { report } = await mirrorOrganization(mirroring(mirror, source, { now: clock.now, concurrency: 1 }))

  expect(report).toMatchObject({ status: 'complete', received: 20, durationMs: 10 * MINUTE_MS })
  await expect(second).rejects.toBeInstanceOf(OrganizationLeased)
})

test('a run that loses its lease while it waits ends as held, and writes no more', async () => {
  const mirror = await aMirror()
  const successor = await aMirror(mirror.file)
  const clock = aClock()
  const source = sourceOf(async (window, { signal, stop }) => {
    if (window.page === 2) {
      await successor.startRun({ organization: 'acme', trigger: 'sync', nowMs: START_MS + 2 * MINUTE_MS })
      await clock.pass(MINUTE_MS, signal)
      await expect.poll(() => stop?.aborted).toBe(true)
    }
    return pageOfList(customers(1, 50), window)
  })

  const { report, error } = await mirrorOrganization(mirroring(mirror, source, { now: clock.now, concurrency: 1 }))

  expect(error).toMatchObject({ name: 'OrganizationLeased', code: 'leased' })
  expect(report).toMatchObject({ status: 'failed', received: 10, error: { code: 'leased' } })
  expect(storedNames(mirror)).toHaveLength(10)
  const left = [{ status: 'running' }, { status: 'interrupted', received: 10 }]
  expect(await mirror.listRuns({ limit: 5 })).toMatchObject(left)
})

/** A clock that advances only when the test says so; the timers of a run use it. */
function aClock() {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  onTestFinished(() => {
    vi.useRealTimers()
  })
  let nowMs = START_MS
  return {
    now: () => nowMs,
    async pass(ms: number, signal: AbortSignal): Promise<void> {
      for (const end = nowMs + ms; nowMs < end && !signal.aborted;) {
        nowMs += 1000
        await vi.advanceTimersByTimeAsync(1000)
      }
    },
  }
}
