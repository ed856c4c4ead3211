import { PerformanceObserver } from 'node:perf_hooks'
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'

/** Room for a few pages at once, in two halves; with more, runs are hardly faster. */
const YOUNG_BYTES = 12 * 1024 * 1024

/**
 * Keeps the heap of this process near what it needs: of a page hardly anything lives on, and left alone the heap grows to a
 * multiple of that before it is looked through. To be called before anything else.
 */
export function keepHeapSmall(): void {
  // What has lived for a while is looked through when it has grown by more than half.
  setFlagsFromString('--heap-growing-percent=70')
  // What is young may take more room as long as it has little: how much at most can only be said on the command line of Node.
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
