import type { RecordedWindow, Run } from '../run.ts'
import type { Mirror } from '../store.ts'
import { RowSet } from '../list/row-set.ts'
import type { ListRecorder } from '../list-memory/list-recorder.ts'
import { PlaceIndex } from '../list-memory/place-index.ts'
import { chainScan } from '../scan/chain-scan.ts'
import { plainScan } from '../scan/plain-scan.ts'
import type { RememberedList } from '../scan/proof/remembered-order.ts'
import type { Scan } from '../scan/scan.ts'
import type { SeenIds } from '../scan/seen.ts'
import { keyOf, type RowKey, type WindowAnswer } from '../scan/window/window.ts'
import type { Certificate } from '../scan/certificate.ts'

export type ScanSettings = {
  /** `chain` proves that every customer was read; `plain` reads page 1 to the last, and proves nothing. */
  scan: 'chain' | 'plain'
  /** Records on a page, 1 to 100. */
  pageSize: number
  /** Stop after this many pages, for a trial. */
  pageLimit?: number | undefined
  /** How old an interrupted scan may be and still be continued. */
  resumeWithinMs: number
}

/** The greatest age of a scan that is continued. None for a plain scan: it records no windows, and those of a chain scan are not its own. */
export function ageToResume({ scan, resumeWithinMs }: ScanSettings): number | undefined {
  return scan === 'chain' ? resumeWithinMs : undefined
}

/** The scan of a run, as configured; it continues from the windows of an interrupted run, if there are any. */
export async function startScan(
  { scan, pageSize, pageLimit }: Omit<ScanSettings, 'resumeWithinMs'>,
  { mirror, run, recorder }: { mirror: Mirror; run: Run; recorder: ListRecorder },
): Promise<Scan> {
  const seen = seenRows()
  const whole =
    scan === 'plain'
      ? plainScan({ pageSize, seen })
      : chainScan({
          pageSize,
          seen,
          recalled: recalledReads(await mirror.recallWindows(run), recorder),
          order: run.list.order,
          list: rememberedList(run),
        })
  return pageLimit === undefined ? whole : limitedScan(whole, pageLimit)
}

type Remembering = Pick<Run, 'list' | 'written' | 'doubted' | 'changedSince'>

/** The list as last read, for the scan. At rest each row stands where it is expected, and no index is made. */
function rememberedList({ list, written, doubted, changedSince }: Remembering): RememberedList {
  const { rowIds } = list.columns
  let index: PlaceIndex | undefined
  return {
    rowIds,
    placeOf(rowId) {
      index ??= PlaceIndex.over(rowIds)
      return index.find(rowId)
    },
    // A customer written since by hand or by a run that failed may be updated although the service did not change it.
    isChanged: (rowId) => (written.has(rowId) && !doubted.has(rowId)) || changedSince.has(rowId),
  }
}

/** The recorded windows, for the scan. Adds their customers to the list for the next run too. */
function* recalledReads(windows: Iterable<RecordedWindow>, recorder: ListRecorder): Generator<WindowAnswer> {
  for (const { page, size, rows, ...read } of windows) {
    const start = read.perPage * (page - 1)
    const rowIds = rows.map(({ rowId = 0 }) => Math.max(0, rowId))
    recorder.add({ start, size: read.perPage, digest: undefined, outline: '' }, rowIds)
    yield { ...read, window: { page, size }, rows: rows.map((row) => ({ ...row, isKept: row.rowId !== undefined })) }
  }
}

/** The rows of customers as bits, an eighth of a byte each; the few rejects and forgotten customers by their ids or numbers. */
function seenRows(): SeenIds {
  const rows = new RowSet()
  const others = new Set<RowKey>()
  return {
    add(row) {
      if (typeof row === 'number') return rows.add(row)
      const key = keyOf(row)
      if (typeof key === 'number' && key > 0) return rows.add(key)
      if (key === undefined || others.has(key)) return false
      others.add(key)
      return true
    },
    clear() {
      rows.clear()
      others.clear()
    },
    get size() {
      return rows.size + others.size
    },
  }
}

/** For a trial: a scan that ends after `limit` windows with the reason `page-limit`, unless it was done before. */
export function limitedScan(scan: Scan, limit: number): Scan {
  let asked = 0
  let answered = 0
  const cutShort = () => asked >= limit && answered >= asked && !scan.done
  return {
    next(free) {
      const windows = scan.next(Math.min(free, limit - asked))
      asked += windows.length
      return windows
    },
    read(answer) {
      answered += 1
      scan.read(answer)
    },
    failed(window, failure) {
      // A page refused for its size is requested again in a smaller size: that counts once.
      if (failure === 'size-refused') asked -= 1
      else answered += 1
      scan.failed(window, failure)
    },
    get done() {
      return scan.done || cutShort()
    },
    get order() {
      return scan.order
    },
    certificate(): Certificate {
      const certificate = scan.certificate()
      return cutShort() ? { ...certificate, proof: 'unproven', reasons: ['page-limit'] } : certificate
    },
  }
}
