import { hash } from 'node:crypto'
import type { Window } from '../../src/scan/window.ts'
import type { CustomersPage, Source } from '../../src/source/customers.ts'
import { aSourcePage } from './builders.ts'

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
