import { hash } from 'node:crypto'
import type { Mirror } from '../../src/store/mirror.ts'
import type { Window } from '../../src/scan/window.ts'
import type { CustomersPage, Source } from '../../src/source/customers.ts'
import { type Mirroring, mirrorOrganization } from '../../src/sync/mirror-organization.ts'
import { aSourcePage, MINUTE_MS, START_MS, DAY_MS } from './builders.ts'
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

export type Night = {
  /** The list, or a function from the number of answered pages to the list. */
  list: readonly unknown[] | ((answered: number) => readonly unknown[])
  told?: Partial<Mirroring>
  /** Pages after which the run is stopped, or its source fails. */
  stopAfter?: number | undefined
  failAfter?: number | undefined
  /** Steps of a changed policy after which the run is stopped. */
  stopHiding?: number | undefined
}

/** One run; `known` counts the pages that were not parsed, `recognized` the records. */
export async function makeNight(mirror: Mirror, index: number, night: Night) {
  const { list, told = {}, stopAfter, failAfter, stopHiding } = night
  const stop = new AbortController()
  let [answered, known, recognized, hidden] = [0, 0, 0, 0]
  const listed = listedSource(() => (typeof list === 'function' ? list(answered) : list))
  const source = readBy(listed, async (window, reading) => {
    if (answered === failAfter) throw new Error('reset')
    const page = await listed.readPage(window, reading)
    answered += 1
    if (answered === stopAfter) stop.abort()
    return page
  })
  const watched: Mirror = {
    ...mirror,
    savePages(run, pages, nowMs) {
      for (const { rowIds } of pages) {
        const rows = Array.from(rowIds).filter((rowId) => rowId !== 0).length
        if (rows > 0 && rows === rowIds.length) known += 1
        recognized += rows
      }
      return mirror.savePages(run, pages, nowMs)
    },
    applyPrivacy(run, nowMs) {
      hidden += 1
      if (hidden === stopHiding) stop.abort()
      return mirror.applyPrivacy(run, nowMs)
    },
  }
  const now = () => START_MS + index * DAY_MS
  const outcome = await mirrorOrganization(
    mirroring(watched, source, { resumeWithinMs: 2 * DAY_MS, ...told, now, signal: stop.signal }),
  )
  return { known, recognized, ...outcome }
}
