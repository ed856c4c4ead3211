import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { ContractBroken, RateLimited, SourceRefused, SourceUnavailable } from '../../src/errors/errors.ts'
import type { Mirror } from '../../src/store/mirror.ts'
import { type Mirroring, mirrorOrganization } from '../../src/sync/mirror-organization.ts'
import { customers } from '../support/builders.ts'
import { mirroring, namesOf, pageOfList, type PageSource, sourceOf, storedNames } from '../support/listed-source.ts'
import { aMirror } from '../support/mirror-file.ts'

const CHAIN = { scan: 'chain', pageSize: 100 } as const
const broken = (page: number) =>
  new SourceUnavailable(`page ${page}: 500 at every attempt`, { code: 'server-error', status: 500 })

type Before = (...asked: [...Parameters<PageSource['readPage']>, count: number]) => unknown

/** A run over the list of a service that does something before it answers; it counts requests from 1. */
function running(mirror: Mirror, list: readonly unknown[], before: Before, told: Partial<Mirroring> = {}) {
  const source = sourceOf(async (window, options) => {
    await before(window, options, source.asked.length)
    return pageOfList(list, window)
  })
  return mirrorOrganization(mirroring(mirror, source, told))
}

test.each([
  ['a refusal', new SourceRefused('401', { code: 'unauthorized', status: 401 })],
  ['a rate limit', new RateLimited('wait an hour', { code: 'rate-limited', status: 429, waitMs: 3_600_000 })],
  ['an answer that cannot be trusted', new ContractBroken('HTML', { code: 'bad-answer' })],
  ['an unexpected error', new TypeError('a defect')],
])('%s ends the run with it, after every page that still arrives was saved', async (_, failure) => {
  const mirror = await aMirror()
  const { error } = await running(mirror, customers(1, 200), async ({ page }) => {
    if (page === 3) throw failure
    if (page > 3) await setImmediate()
  })

  expect(error).toBe(failure)
  expect(storedNames(mirror)).toEqual(namesOf([...customers(1, 20), ...customers(31, 50)]))
})

test('a failure that comes while pages are being saved ends the run all the same', async () => {
  const refused = new SourceRefused('403', { code: 'forbidden', status: 403 })
  const failing = Promise.withResolvers<never>()
  failing.promise.catch(() => {})
  const mirror = await aMirror()
  const savePages: Mirror['savePages'] = async (run, pages, nowMs) => {
    if (pages.some(({ page }) => page === 2)) failing.reject(refused)
    await setImmediate()
    return mirror.savePages(run, pages, nowMs)
  }
  const before: Before = ({ page }) => (page === 3 ? failing.promise : undefined)

  const { error } = await running({ ...mirror, savePages }, customers(1, 30), before, { concurrency: 2 })

  expect(error).toBe(refused)
})

test.each([1, 4])(
  'a service that goes down on the way ends the run with the first failure (%d at once)',
  async (many) => {
    const before: Before = (_, __, count) => (count > 10 ? Promise.reject(broken(count)) : undefined)
    const told = { ...CHAIN, concurrency: many }
    const { report, error } = await running(await aMirror(), customers(1, 5000), before, told)

    expect(String(error)).toContain('page 11: 500 at every attempt')
    expect(report.pages).toBe(10)
    expect(report.requests).toBeLessThan(35)
  },
)

test('failures that other pages come between do not end the run, however many they are', async () => {
  const failed = new Set<string>()
  const mirror = await aMirror()
  // Every fourth of the large windows fails once, and the two halves of it are read.
  const before: Before = ({ page, size }) => {
    const key = `${page}/${size}`
    if (size <= 5 || page % 4 !== 1 || failed.has(key)) return undefined
    failed.add(key)
    return Promise.reject(broken(page))
  }

  const { report } = await running(mirror, customers(1, 650), before, { ...CHAIN, pageSize: 10, concurrency: 1 })

  // As many in a row would have ended it.
  expect(failed.size).toBeGreaterThan(13)
  expect(report).toMatchObject({ status: 'complete', proof: 'proven', inserted: 650 })
})
