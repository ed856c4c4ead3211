import { hash } from 'node:crypto'
import type { Mirror } from '../../src/store/mirror.ts'
import type { Window } from '../../src/scan/window.ts'
import type { CustomersPage, Source } from '../../src/source/customers.ts'
import type { Mirroring } from '../../src/sync/mirror-organization.ts'
import { aSourcePage, MINUTE_MS, START_MS } from './builders.ts'
import { rowsOf } from './mirror-file.ts'

export type PageSource = Pick<Source, 'readPage' | 'search' | 'counters'>
type ReadPage = Source['readPage']

/** A page of a list, as a service cuts it that sends no larger page than `cap`. */
export function pageOfList(list: readonly unknown[], { page, size: asked }: Window, cap = 100): CustomersPage {
  const size = Math.min(asked, cap)
  const records = list.slice(size * (page - 1), size * page)
  const beyondEnd = page > 1 && records.length === 0
  return aSourcePage(page, records, { size, beyondEnd, total: list.length })
}

/** A source that answers each page by `readPage`, and counts requests. */
export function sourceOf(
  readPage: ReadPage,
  search: Source['search'] = async () => aSourcePage(1, [], { total: 0 }),
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

/** A source over a list that may change between its pages. */
export function listedSource(list: readonly unknown[] | (() => readonly unknown[])): PageSource & { asked: Window[] } {
  return sourceOf(async (window) => {
    const page = pageOfList(typeof list === 'function' ? list() : list, window)
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

export function storedNames(mirror: Mirror): unknown[] {
  return rowsOf(mirror.file, 'SELECT name FROM customers ORDER BY id').map(({ name }) => name)
}

export function namesOf(list: readonly Record<string, unknown>[]): unknown[] {
  return list.map(({ name }) => name)
}
