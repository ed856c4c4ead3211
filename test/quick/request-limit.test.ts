import { expect, test } from 'vitest'
import { SourceUnavailable } from '../../src/errors/errors.ts'
import { limitRequests } from '../../src/quick/request-limit.ts'
import { listScan } from '../../src/scan/list-scan.ts'
import { quickScan } from '../../src/quick/quick-scan.ts'
import type { Asking } from '../../src/source/customers.ts'
import { aSourcePage } from '../support/builders.ts'

const NEVER = { signal: new AbortController().signal }

/** A source of which every page has to be asked for several times. */
function aWearySource(times: number) {
  let requests = 0
  const ask = async ({ mayAskMore }: Asking) => {
    for (let left = times; left > 0; left -= 1) {
      requests += 1
      if (left > 1 && mayAskMore?.() === false) throw new SourceUnavailable('503', { code: 'server-error' })
    }
    return aSourcePage(1, [])
  }
  const counters = () => ({ requests, throttled: 0, waitedMs: 0 })
  return {
    readPage: (_: unknown, options: Asking) => ask(options),
    search: (_: string, options: Asking) => ask(options),
    get counters() {
      return counters()
    },
  }
}

test('requests that are sent again count as well, and none is sent again where none is left', async () => {
  const source = limitRequests(aWearySource(3), 7)

  await source.readPage({ page: 1, size: 100 }, NEVER)
  await source.search('Ann', { ...NEVER, size: 100 })
  expect(source.room).toBe(1)
  await expect(source.search('Bob', { ...NEVER, size: 100 })).rejects.toThrow('503')

  expect([source.counters.requests, source.room]).toEqual([7, 0])
})

test('a scan asks for no more windows than requests are left', async () => {
  const source = limitRequests(aWearySource(2), 2)
  const expected = { rowIds: Array.from({ length: 1000 }, (_, index) => index + 1), placeOf: () => -1 }
  const scan = source.limit(quickScan({ expected, maxRequests: 10 }))
  const [window] = scan.next(4)
  if (window === undefined) throw new Error('It asks for the first page.')

  await source.readPage(window, NEVER)
  scan.read({ window, rows: [], total: 1000, perPage: 100, beyondEnd: false })

  expect([scan.next(4), scan.done]).toEqual([[], true])
})

test('windows that were given out and not sent yet count as well', () => {
  const window = { page: 1, size: 100 }
  const eager = Object.assign(listScan(), { next: (free: number) => Array.from({ length: free }, () => window) })
  const source = limitRequests(aWearySource(1), 3)
  const scan = source.limit(eager)

  expect([2, 4, 1].map((free) => scan.next(free).length)).toEqual([2, 1, 0])
  expect(source.room).toBe(0)
})
