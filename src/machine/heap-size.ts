import { PerformanceObserver } from 'node:perf_hooks'
import { getHeapSpaceStatistics, getHeapStatistics, setFlagsFromString } from 'node:v8'

/** Half of the room for young objects, in MB: a few pages. More makes runs hardly faster. */
const HALF_MB = 8

/**
 * By how many percent the old objects grow before the next garbage collection. A night at rest, whose heap is small, ends before that, and
 * takes a tenth less processor time. A large heap that doubled would take too much memory.
 */
const GROWTH = { small: 100, large: 50 }
/** Heap and memory outside of it together, such as the bytes of pages and lists: those are not freed before a collection either. */
const LARGE_MB = 48
const MB = 1024 * 1024

/**
 * Gives young objects all of their room at once, and has old objects collected after a bounded growth. Left to itself, the heap of an
 * initial sync grows to several times what it needs. To be called before the program is loaded. V8 takes the size of this room only on the
 * command line, which a program that is started by name does not have; but it grows the room step by step, by a factor that can be set. A
 * collection under way at that moment may grow it once more.
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

/** Objects that stay alive make it grow: 2 MB of them at first, in a few milliseconds. 32 MB would be far too much. */
function growYoungRoom(): void {
  const kept: unknown[] = []
  for (let part = 0; part < 512 && youngBytes() < HALF_MB * MB; part += 1) kept.push(Array.from({ length: 8192 }))
}

/** The room for young objects, in bytes. */
function youngBytes(): number {
  return getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space')?.space_size ?? 0
}
