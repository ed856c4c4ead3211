import type { Mirror } from './mirror/mirror.ts'
import { RowSet } from './row-set.ts'
import type { Run } from './mirror/runs.ts'
import type { RecordedWindow } from './mirror/windows.ts'
import { chainScan } from './scan/chain-scan.ts'
import { limitedScan } from './scan/limited-scan.ts'
import { plainScan } from './scan/plain-scan.ts'
import type { Scan } from './scan/scan.ts'
import type { SeenIds } from './scan/seen.ts'
import type { WindowRead } from './scan/window.ts'

export type ScanSettings = {
  /** `chain` proves that everybody was read; `plain` is page 1 to the last, and proves nothing. */
  scan: 'chain' | 'plain'
  /** Records a page, 1 to 100. */
  pageSize: number
  /** Stop after so many pages, for a trial. */
  pageLimit?: number | undefined
}

/** The scan of a run: as configured, and from where an interrupted run had come, where this one goes on from it. */
export async function startScan({ scan, pageSize, pageLimit }: ScanSettings, mirror: Mirror, run: Run): Promise<Scan> {
  const seen = seenRows()
  const whole =
    scan === 'plain'
      ? plainScan({ pageSize, seen })
      : chainScan({ pageSize, seen, recalled: recalledReads(await mirror.recallWindows(run)) })
  return pageLimit === undefined ? whole : limitedScan(whole, pageLimit)
}

function* recalledReads(windows: Iterable<RecordedWindow>): Generator<WindowRead> {
  for (const { page, size, rows, ...read } of windows) {
    yield { ...read, window: { page, size }, rows: rows.map((row) => ({ ...row, isKept: row.rowId !== undefined })) }
  }
}

/** Customers as bits by their row, an eighth of a byte each; rejects, of which there are few, by their id. */
function seenRows(): SeenIds {
  const rows = new RowSet()
  const rejected = new Set<string>()
  return {
    add(row) {
      if (typeof row === 'number') return rows.add(row)
      const { id, rowId } = row
      if (rowId !== undefined) return rows.add(rowId)
      if (id === undefined || rejected.has(id)) return false
      rejected.add(id)
      return true
    },
    clear() {
      rows.clear()
      rejected.clear()
    },
    get size() {
      return rows.size + rejected.size
    },
  }
}
