import { hash } from 'node:crypto'
import type { Mirror } from '../../src/store/mirror.ts'
import { ListScan } from '../../src/scan/list-scan.ts'
import type { Scan } from '../../src/scan/scan.ts'
import type { Window } from '../../src/scan/window.ts'
import type { CustomersPage, Source } from '../../src/source/customers.ts'
import type { Mirroring } from '../../src/sync/mirror-organization.ts'
import { type Arrival, type Reading, readWindows } from '../../src/sync/read-windows.ts'
import { aCustomer, aSourcePage, MINUTE_MS, type SentRecord, START_MS } from './builders.ts'
import { rowsOf } from './mirror-file.ts'

/** The part of a source that mirroring uses. */
export type PageSource = Pick<Source, 'readPage' | 'search' | 'counters'>
type ReadPage = Source['readPage']

export type ListedOptions = {
  /** The largest page that the service sends, whatever size is requested. */
  cap?: number
  /** Whether the service reports a total. */
  reportsTotal?: boolean
}

/** A page of a list, as the service cuts it. */
export function pageOfList(
  list: readonly unknown[],
  { page, size: askedSize }: Window,
  { cap = 100, reportsTotal = true }: ListedOptions = {},
): CustomersPage {
  const size = Math.min(askedSize, cap)
  const records = list.slice(size * (page - 1), size * page)
  const told = reportsTotal ? { total: list.length, lastPage: Math.max(1, Math.ceil(list.length / size)) } : {}
  return aSourcePage(page, records, { size, askedSize, beyondEnd: page > 1 && records.length === 0, ...told })
}

/** A source that answers each page by `readPage`, and counts requests. */
export function sourceOf(
  readPage: ReadPage,
  search: Source['search'] = nothingFound,
): PageSource & { asked: Window[] } {
  const asked: Window[] = []
  return {
    asked,
    readPage(window, options) {
      asked.push(window)
      return readPage(window, options)
    },
    search(text, options) {
      asked.push({ page: 1, size: 100 })
      return search(text, options)
    },
    get counters() {
      return { requests: asked.length, throttled: 0, waitedMs: 0 }
    },
  }
}

async function nothingFound(): Promise<CustomersPage> {
  return aSourcePage(1, [], { total: 0 })
}

/** A source over a list that may change between its pages. */
export function listedSource(
  list: readonly unknown[] | (() => readonly unknown[]),
  options: ListedOptions = {},
): PageSource & { asked: Window[] } {
  return sourceOf(async (window) => {
    const page = pageOfList(typeof list === 'function' ? list() : list, window, options)
    const records = page.records()
    return records.length === 0 ? page : { ...page, digest: hash('sha256', JSON.stringify(records)) }
  })
}

/** The same source, whose pages are read by another function. */
export function readBy(source: PageSource, readPage: ReadPage): PageSource {
  return {
    readPage,
    search: (text, options) => source.search(text, options),
    get counters() {
      return source.counters
    },
  }
}

/** The settings of a run of acme: a plain scan, pages of ten, four at once, with a clock that does not move. */
export function mirroring(mirror: Mirror, source: PageSource, overrides: Partial<Mirroring> = {}): Mirroring {
  return {
    organization: 'acme',
    source,
    mirror,
    trigger: 'sync',
    scan: 'plain',
    pageSize: 10,
    resumeWithinMs: 6 * 60 * MINUTE_MS,
    removals: { after: 2, maxShare: 0.1 },
    concurrency: 4,
    now: () => START_MS,
    monotonicMs: overrides.now ?? (() => START_MS),
    random: () => 0,
    signal: new AbortController().signal,
    ...overrides,
  }
}

/** A clock that advances a second at every reading, so that every page is saved alone. */
export function movingClock(): () => number {
  let nowMs = START_MS
  return () => (nowMs += 1000)
}

/** The names of all customers in the mirror, by id. */
export function storedNames(mirror: Mirror): unknown[] {
  return rowsOf(mirror.file, 'SELECT name FROM customers ORDER BY id').map(({ name }) => name)
}

export function namesOf(list: readonly Record<string, unknown>[]): unknown[] {
  return list.map(({ name }) => name)
}

/**
 * The list in one edition: every customer has changed since the edition before, one is new, one is broken, one is listed twice,
 * and one record has no id.
 */
export function changingList(edition: number): SentRecord[] {
  const list = Array.from({ length: 1500 + edition }, (_, index) =>
    aCustomer(index + 1, { name: `Customer ${index + 1}, edition ${edition}` }),
  )
  const broken = edition % list.length
  list[broken] = { ...list[broken], email: [] }
  return [...list, aCustomer(700, { name: `Customer 700, edition ${edition}` }), { name: 'Nobody' }]
}

/** Fails as soon as the signal is aborted, and does nothing before. */
export function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const end = () => reject(signal.reason instanceof Error ? signal.reason : new Error('aborted'))
    if (signal.aborted) end()
    else signal.addEventListener('abort', end, { once: true })
  })
}

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
export function aReading(list: readonly unknown[], { readPage, save, ...setting }: Setting = {}) {
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

export function pagesOf(arrivals: readonly Arrival[]): number[] {
  return arrivals.map(({ window }) => window.page).toSorted((a, b) => a - b)
}

export function idsIn(arrivals: readonly Arrival[]): Set<string> {
  return new Set(arrivals.flatMap(({ page }) => page.records().map((record) => rowOf(record).id)))
}
