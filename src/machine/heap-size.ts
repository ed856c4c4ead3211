import { PerformanceObserver } from 'node:perf_hooks'
import { getHeapSpaceStatistics, getHeapStatistics, setFlagsFromString } from 'node:v8'

/** Half of the room for young objects, in MB: a few pages. With more, runs are hardly faster. */
const HALF_MB = 8

/**
 * By how much old objects grow before they are looked through, in percent. A night at rest, whose heap is small, is then over before: it
 * takes a tenth less processor time. A heap that has become large would take too much memory if it grew so on.
 */
const GROWTH = { small: 100, large: 50 }
/** With what objects hold outside the heap, such as the bytes of pages and of lists, which are not given back before either. */
const LARGE_MB = 48
const MB = 1024 * 1024

/**
 * Gives young objects their room at once, for good, and lets old ones be looked through when they have grown by some. Left to
 * itself, the heap of an initial sync grows to several times what it needs. To be called before the program is loaded: V8 takes
 * the size of this room on the command line, where it cannot stand for a program that is started by name, and grows it step by
 * step by a factor, which can be set. A collection under way meanwhile may let it grow once more.
 */
export function setHeapSize(): void {
  setFlagsFromString(`--semi-space-growth-factor=${HALF_MB}`)
  growYoungRoom()
  setFlagsFromString('--semi-space-growth-factor=1')
  // The same at each start: V8 refuses what an earlier start compiled under other flags.
  setGrowth(GROWTH.small)
  const observer = new PerformanceObserver(() => {
    const { used_heap_size: used, external_memory: held } = getHeapStatistics()
    if (used + held < LARGE_MB * MB) return
    observer.disconnect()
    setGrowth(GROWTH.large)
  })
  observer.observe({ entryTypes: ['gc'] })
}

function setGrowth(percent: number): void {
  setFlagsFromString(`--heap-growing-percent=${percent}`)
}

/** Objects that live on make it grow: 2 MB of them at first, in a few milliseconds; 32 MB are far too many. */
function growYoungRoom(): void {
  const kept: unknown[] = []
  for (let part = 0; part < 512 && youngBytes() < HALF_MB * MB; part += 1) kept.push(Array.from({ length: 8192 }))
}

/** The room for young objects, in bytes. */
function youngBytes(): number {
  return getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space')?.space_size ?? 0
}
