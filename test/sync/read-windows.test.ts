import { setImmediate } from 'node:timers/promises'
import { expect, onTestFinished, test, vi } from 'vitest'
import { ContractBroken, RateLimited, SourceRefused, SourceUnavailable } from '../../src/errors/errors.ts'
import { ListScan } from '../../src/scan/list-scan.ts'
import { customers, START_MS } from '../support/builders.ts'
import { untilAborted, pageOfList } from '../support/listed-source.ts'
import { type Reading, type Arrival, readWindows } from '../../src/sync/read-windows.ts'
import { type Window } from '../../src/scan/window.ts'
import { type Scan } from '../../src/scan/scan.ts'

const broken = (page: number) =>
  new SourceUnavailable(`page ${page}: 500 at every attempt`, { code: 'server-error', status: 500 })

test('every page is handed over once, and pages that arrived together are handed over together', async () => {
  const { saved, saves, run } = aReading(customers(1, 60))

  await run

  expect(saved.map(({ window }) => window.page).toSorted((a, b) => a - b)).toEqual([1, 2, 3, 4, 5, 6])
  expect(saves[0]).toBe(1)
  expect(saves.length).toBeLessThan(6)
})

test('a page that was read does not wait for a slow one', async () => {
  const { saved, run } = aReading(customers(1, 40), {
    concurrency: 1,
    monotonicMs: Date.now,
    readPage: async ({ page }) => {
      if (page === 3) await expect.poll(() => pagesOf(saved)).toEqual([1, 2])
    },
  })

  await run

  expect(pagesOf(saved)).toEqual([1, 2, 3, 4])
})

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

test('a failed save ends the reading with its error, and no more requests are sent', async () => {
  const full = new Error('the disk is full')
  let askedByThen = 0
  const { asked, run } = aReading(customers(1, 500), {
    save: async (arrivals) => {
      if (arrivals.every(({ window }) => window.page === 1)) return
      askedByThen ||= asked.length
      throw full
    },
  })

  await expect(run).rejects.toBe(full)

  expect(asked).toHaveLength(askedByThen)
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

test('a refused size is reported to the scan, which continues with another', async () => {
  const refused = new SourceRefused('422', { code: 'unprocessable', status: 422 })
  const { saved, run } = aReading(customers(1, 300), {
    scan: new ListScan(),
    readPage: ({ size }) => ([100, 50].includes(size) ? undefined : Promise.reject(refused)),
  })

  await run

  expect(idsIn(saved).size).toBe(300)
})

test('the next windows are asked for while a save waits, and their pages are saved after it', async () => {
  const waiting = Promise.withResolvers<void>()
  const { run, asked, saves, saved } = aReading(customers(1, 200), {
    savedTogether: 8,
    // The first page says how many there are.
    save: (_, onWaiting) => {
      onWaiting()
      return saves.length === 1 ? waiting.promise : Promise.resolve()
    },
  })

  for (let turn = 0; turn < 50; turn += 1) await setImmediate()
  // As many as are saved together are held beside those that are being saved, and no more are asked for.
  const held = asked.length - saves.length
  expect(saves).toEqual([1])
  expect(held).toBeGreaterThan(8)
  expect(asked.length).toBeLessThan(20)
  waiting.resolve()
  await run

  expect(pagesOf(saved)).toEqual(Array.from({ length: 20 }, (_, index) => index + 1))
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

test('aborting a reading ends open requests with the given reason', async () => {
  const abort = new AbortController()
  const taken = new Error('another run took over')
  const { saved, run } = aReading(customers(1, 500), {
    abort: abort.signal,
    readPage: async ({ page }, _, { signal }) => {
      if (page === 1) return undefined
      if (page === 4) abort.abort(taken)
      return untilAborted(signal)
    },
  })

  await expect(run).rejects.toBe(taken)

  expect(pagesOf(saved)).toEqual([1])
})

test('a reading that was aborted before its start sends no request', async () => {
  const { asked, run } = aReading(customers(1, 50), { abort: AbortSignal.abort(new Error('taken over')) })

  await expect(run).rejects.toThrow('taken over')

  expect(asked).toEqual([])
})

type Setting = Partial<Omit<Reading, 'readPage'>> & {
  /** Called before a window is answered with its page; requests are counted from 1. */
  readPage?: (
    window: Window,
    count: number,
    stopping: Parameters<Reading['readPage']>[1],
  ) => Promise<unknown> | undefined
  save?: (arrivals: Arrival[], onWaiting: () => void) => Promise<unknown>
}

/** Reads a list; by default in plain pages of ten, four at once. */
function aReading(list: readonly unknown[], { readPage, save, ...setting }: Setting = {}) {
  const asked: Window[] = []
  const saved: Arrival[] = []
  const saves: number[] = []
  const never = new AbortController().signal
  const scan = patient(setting.scan ?? new ListScan({ isPlain: true, pageSize: 10 }))
  const reading: Reading = {
    concurrency: 4,
    savedTogether: 32,
    stop: never,
    abort: never,
    monotonicMs: () => START_MS,
    ...setting,
    scan,
    readPage: async (window, stopping) => {
      asked.push(window)
      await readPage?.(window, asked.length, stopping)
      return pageOfList(list, window)
    },
  }
  const run = readWindows(reading, async (arrivals, onWaiting) => {
    await save?.(arrivals, onWaiting)
    saves.push(arrivals.length)
    saved.push(...arrivals)
    for (const { window, page } of arrivals) {
      scan.read({ ...page, window, perPage: page.size, rows: page.records().map(rowOf) })
    }
  })
  return { run, asked, saved, saves, scan }
}

/** A scan that never ends fails the test instead of hanging it. */
function patient(scan: Scan): Scan {
  let inVain = 0
  return {
    next(free) {
      const windows = scan.next(free)
      inVain = windows.length === 0 ? inVain + 1 : 0
      if (inVain > 1000) throw new Error('asked for windows a thousand times in vain')
      return windows
    },
    read: (read) => scan.read(read),
    failed: (window, failure) => scan.failed(window, failure),
    get done() {
      return scan.done
    },
    certificate: () => scan.certificate(),
  }
}

function rowOf(record: unknown): { id: string; createdAt: string } {
  const { id, created_at }: Record<string, unknown> = Object(record)
  return { id: String(id), createdAt: String(created_at) }
}

function pagesOf(arrivals: readonly Arrival[]): number[] {
  return arrivals.map(({ window }) => window.page).toSorted((a, b) => a - b)
}

function idsIn(arrivals: readonly Arrival[]): Set<string> {
  return new Set(arrivals.flatMap(({ page }) => page.records().map((record) => rowOf(record).id)))
}
