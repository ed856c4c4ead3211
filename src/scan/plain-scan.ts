import type { Certificate, Scan, Window } from './scan.ts'

/**
 * Page 1 to the last, once. Fast, and proof of nothing: rows that move while the list is read can slip from a page not yet
 * read to one that was, so the certificate always says `unproven`. `pageLimit` ends it early.
 */
export function plainScan(options: { pageSize: number; pageLimit?: number | undefined }): Scan {
  const limit = options.pageLimit ?? Number.POSITIVE_INFINITY
  let size = options.pageSize
  /** As told by the answers; the greatest, since a list that grew while it was read has more pages at its end. */
  let lastPage = 1
  let highestRead = 0
  let pagesRead = 0
  let nextPage = 1
  let cameToEnd = false

  const readToEnd = () => cameToEnd || (pagesRead > 0 && highestRead >= lastPage)
  const reachable = () => (pagesRead === 0 ? 1 : Math.min(limit, cameToEnd ? 0 : lastPage))

  return {
    next(free) {
      const windows: Window[] = []
      while (windows.length < free && nextPage <= reachable()) windows.push({ page: nextPage++, size })
      return windows
    },
    read({ window, rows, perPage, total, lastPage: told, beyondEnd }) {
      if (window.page === 1) size = perPage
      pagesRead += 1
      highestRead = Math.max(highestRead, window.page)
      // Without a promise of how many pages there are, the first page that is not full is the last.
      const promised = told ?? (total === undefined ? undefined : Math.ceil(total / size))
      lastPage = Math.max(lastPage, promised ?? (rows.length < size ? window.page : window.page + 1))
      if (beyondEnd) cameToEnd = true
    },
    get done() {
      return pagesRead > 0 && pagesRead === nextPage - 1 && nextPage > reachable()
    },
    certificate(): Certificate {
      const whole = readToEnd()
      return { proof: 'unproven', reasons: [whole ? 'plain-scan' : 'page-limit'], readToEnd: whole }
    },
  }
}
