import type { Scan } from '../scan/scan.ts'
import type { Asking, Source } from '../source/customers.ts'

/** The source of a run that sends no more than `most` requests, and how many are left. */
export type LimitedSource = Pick<Source, 'readPage' | 'search' | 'counters'> & {
  /** How many more requests may be sent. */
  readonly room: number
  /** A scan that asks for no more windows than there are requests left. */
  limit(scan: Scan): Scan
}

/**
 * Counts every request: for pages, for searches, and those that are sent again after a failure. Where none is left, a request that
 * failed is not sent again.
 */
export function limitRequests(source: Pick<Source, 'readPage' | 'search' | 'counters'>, most: number): LimitedSource {
  let promised = 0
  const roomNow = () => most - Math.max(promised, source.counters.requests)
  const mayAskMore = () => {
    if (roomNow() < 1) return false
    promised += 1
    return true
  }
  const limited = <Options extends Asking>(options: Options) => ({ ...options, mayAskMore })
  return {
    readPage: (window, options) => source.readPage(window, limited(options)),
    async search(text, options) {
      promised += 1
      return source.search(text, limited(options))
    },
    get counters() {
      return source.counters
    },
    get room() {
      return roomNow()
    },
    limit: (scan) => ({
      next(free) {
        const windows = scan.next(Math.max(0, Math.min(free, roomNow())))
        promised += windows.length
        return windows
      },
      read: (answer) => scan.read(answer),
      failed: (window, failure) => scan.failed(window, failure),
      get done() {
        return scan.done
      },
      certificate: () => scan.certificate(),
    }),
  }
}
