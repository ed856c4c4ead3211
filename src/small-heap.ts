import { PerformanceObserver } from 'node:perf_hooks'
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'

/** Room for a few pages at once, in two halves; more room makes runs hardly faster. */
const YOUNG_BYTES = 12 * 1024 * 1024

/**
 * Keeps the heap of this process small: almost all objects of a page are garbage at once, and by default the heap grows to a
 * multiple of its live size before it is collected. Call it before anything else.
 */
export function keepHeapSmall(): void {
  // Old objects are collected when they have grown by 70 %.
  setFlagsFromString('--heap-growing-percent=70')
  // The space of young objects may grow up to this size. Its maximum can only be set on Node's command line.
  const observer = new PerformanceObserver(() => {
    if (youngBytes() < YOUNG_BYTES) return
    setFlagsFromString('--semi-space-growth-factor=1')
    observer.disconnect()
  })
  observer.observe({ entryTypes: ['gc'] })
}

function youngBytes(): number {
  return getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space')?.space_size ?? 0
}
