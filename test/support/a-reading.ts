import { readWindows, type Arrival, type Reading } from '../../src/sync/read-windows.ts'
import { listScan } from '../../src/scan/list-scan.ts'
import type { Scan } from '../../src/scan/scan.ts'
import type { Window } from '../../src/scan/window.ts'
import { START_MS } from './builders.ts'
import { pageOfList } from './listed-source.ts'

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
  const scan = patient(setting.scan ?? listScan({ isPlain: true, pageSize: 10 }))
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
