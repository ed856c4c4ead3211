import { quickScan, type QuickScanOptions } from '../../src/quick/quick-scan.ts'
import { keyOf } from '../../src/scan/window.ts'
import { dice } from './dice.ts'
import { drive, type Service } from './drive-scan.ts'
import { expecting, QuickList } from './quick-list.ts'

type Settings = Partial<QuickScanOptions> & { service?: Service }

/** Reads the list as a quick scan does, after it was expected in the order `before`. */
export function readQuickly(list: QuickList, before: readonly number[], { service, ...options }: Settings = {}) {
  const scan = quickScan({ expected: expecting(before), maxRequests: 100, ...options })
  const ride = drive(scan, service ?? { answer: (window) => list.answer(window) }, { dice: dice(7), parallel: 4 })
  const read = new Set(ride.reads.flatMap(({ rows }) => rows.map(keyOf)))
  return { ...scan.conclusion(), reasons: scan.certificate().reasons, requests: ride.requests, read, reads: ride.reads }
}
