import type { RecordedWindow, Run } from '../model/run.ts'
import type { Mirror } from '../model/mirror.ts'
import type { ListRecorder } from './list-as-read.ts'
import { listScan } from '../scan/list-scan.ts'
import type { Certificate, Scan } from '../scan/scan.ts'
import type { WindowAnswer } from '../scan/window.ts'

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
  const whole =
    scan === 'plain'
      ? listScan({ pageSize, isPlain: true })
      : listScan({
          pageSize,
          recalled: recalledReads(await mirror.recallWindows(run), recorder),
        })
  return pageLimit === undefined ? whole : limitedScan(whole, pageLimit)
}

/** The recorded windows, for the scan. Adds their customers to the list for the next run too. */
function* recalledReads(windows: Iterable<RecordedWindow>, recorder: ListRecorder): Generator<WindowAnswer> {
  for (const { page, size, rows, ...read } of windows) {
    const start = read.perPage * (page - 1)
    const rowIds = rows.map(({ rowId = 0 }) => Math.max(0, rowId))
    recorder.add({ start, size: read.perPage }, rowIds)
    yield { ...read, window: { page, size }, rows }
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
    certificate(): Certificate {
      const certificate = scan.certificate()
      return cutShort() ? { ...certificate, proof: 'unproven', reasons: ['page-limit'] } : certificate
    },
  }
}
