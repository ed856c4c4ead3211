// Imported as a whole: with a class that is named here, it would be loaded at every start.
import perf from 'node:perf_hooks'
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'

/** What the youngest objects of this program may take, as V8 counts it: both halves of their space. */
const YOUNG_BYTES = 16 * 1024 ** 2

/**
 * Bounds the space of the youngest objects, which V8 lets grow to 128 MB: no command is faster with more, and a long list takes 100 MB more.
 * Older ones may grow by half before V8 looks for those that are gone, and not to four times as much: that takes 30 MB less, and no time.
 */
export function keepHeapSmall(): void {
  // As long as the process lasts: V8 gives the space back while a worker is idle.
  new perf.PerformanceObserver(boundGrowth).observe({ entryTypes: ['gc'] })
  boundGrowth()
  setFlagsFromString('--heap-growing-percent=50')
}

/** Has V8 look for older objects a first time, which it would do only once they take 60 to 120 MB. From then on their growth is bounded. */
export function lookForOldObjects(): void {
  // In percent of the growth that is allowed. A program that waits for nothing meanwhile is looked through again at each such step.
  setFlagsFromString('--incremental-marking-hard-trigger=3')
  const observer = new perf.PerformanceObserver((found) => {
    if (!found.getEntries().some(isWhole)) return
    setFlagsFromString('--incremental-marking-hard-trigger=0')
    observer.disconnect()
  })
  observer.observe({ entryTypes: ['gc'] })
}

/** Whether a collection looked at all objects, and not at the youngest alone. */
function isWhole(collection: object): boolean {
  const detail: unknown = 'detail' in collection ? collection.detail : undefined
  return detail instanceof Object && 'kind' in detail && detail.kind === perf.constants.NODE_PERFORMANCE_GC_MAJOR
}

function boundGrowth(): void {
  const space = getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space')
  // V8 reads this one whenever the space is to grow, and not once at its start, as it reads the largest size.
  const factor = Math.max(1, Math.floor(YOUNG_BYTES / (space?.space_size ?? YOUNG_BYTES)))
  setFlagsFromString(`--semi-space-growth-factor=${factor}`)
}
