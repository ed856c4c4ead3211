import { setImmediate } from 'node:timers/promises'
import { expect, onTestFinished, test, vi } from 'vitest'
import { ContractBroken, RateLimited, SourceRefused, SourceUnavailable } from '../../src/errors/errors.ts'
import { ListScan } from '../../src/scan/list-scan.ts'
import { customers } from '../support/builders.ts'
import { aReading, idsIn, pagesOf, untilAborted } from '../support/listed-source.ts'

const broken = (page: number) =>
  new SourceUnavailable(`page ${page}: 500 at every attempt`, { code: 'server-error', status: 500 })

test.each([
  ['a refusal', new SourceRefused('401', { code: 'unauthorized', status: 401 })],
  ['a rate limit', new RateLimited('wait an hour', { waitMs: 3_600_000 })],
  ['an answer that cannot be trusted', new ContractBroken('HTML', { code: 'bad-answer' })],
  ['an unexpected error', new TypeError('a defect')],
])('%s ends the reading with it, after every page that still arrives was handed over', async (_, error) => {
  const { saved, run } = aReading(customers(1, 200), {
    readPage: async ({ page }) => {
      if (page === 3) throw error
      if (page > 3) await setImmediate()
    },
  })

  await expect(run).rejects.toBe(error)

  expect(pagesOf(saved)).toEqual([1, 2, 4, 5])
})

test('a failure that comes while pages are being saved ends the reading all the same', async () => {
  const refused = new SourceRefused('403', { code: 'forbidden', status: 403 })
  const failing = Promise.withResolvers<never>()
  const { run } = aReading(customers(1, 30), {
    concurrency: 2,
    readPage: ({ page }) => (page === 3 ? failing.promise : undefined),
    save: async ([first]) => {
      if (first?.window.page !== 2) return
      failing.reject(refused)
      await setImmediate()
    },
  })

  await expect(run).rejects.toBe(refused)
})

test.each([1, 4])(
  'a service that goes down on the way ends the reading with the first failure (%d at once)',
  async (many) => {
    const { asked, saved, run } = aReading(customers(1, 5000), {
      scan: new ListScan(),
      concurrency: many,
      readPage: (_, count) => (count > 10 ? Promise.reject(broken(count)) : undefined),
    })

    await expect(run).rejects.toThrow('page 11: 500 at every attempt')

    expect(saved).toHaveLength(10)
    expect(asked.length).toBeLessThan(35)
  },
)

test('failures that other pages come between do not end the reading, however many they are', async () => {
  const failed = new Set<string>()
  const { saved, run, scan } = aReading(customers(1, 4500), {
    scan: new ListScan(),
    concurrency: 1,
    // Every fourth of the large windows fails once, and the two halves of it are read.
    readPage: (window) => {
      const key = `${window.page}/${window.size}`
      const fails = window.size > 50 && window.page % 4 === 1 && !failed.has(key)
      if (fails) failed.add(key)
      return fails ? Promise.reject(broken(window.page)) : undefined
    },
  })

  await run

  expect(failed.size).toBeGreaterThan(6)
  expect(scan.certificate()).toMatchObject({ proof: 'proven', holes: [] })
  expect(idsIn(saved).size).toBe(4500)
})

test('a request still open five seconds after a stop is ended, and received pages are kept', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const stop = new AbortController()
  const hanging = Promise.withResolvers<AbortSignal>()
  const { saved, run } = aReading(customers(1, 500), {
    concurrency: 1,
    stop: stop.signal,
    readPage: ({ page }, _, { signal }) => {
      if (page < 3) return undefined
      hanging.resolve(signal)
      return untilAborted(signal)
    },
  })
  const ended = run.then(
    () => 'well',
    () => 'early',
  )
  const signal = await hanging.promise

  stop.abort()
  await vi.advanceTimersByTimeAsync(4999)
  expect(signal.aborted).toBe(false)
  await vi.advanceTimersByTimeAsync(1)

  expect(await ended).toBe('early')
  expect(signal.aborted).toBe(true)
  expect(pagesOf(saved)).toEqual([1, 2])
})
