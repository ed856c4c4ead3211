import { readFileSync, statfsSync } from 'node:fs'
import { availableParallelism, cpus, release, totalmem } from 'node:os'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { resourceUsage } from 'node:process'
import type { Measurement } from './messages.ts'

/**
 * Measures the parts of this process's work that are handed to it, and leaves out the rest; the peak memory is that of the whole process.
 * `folder` is where the work writes: what can be known about bytes written depends on its file system.
 */
export function createStopwatch(folder: string) {
  const column = writtenColumn(folder)
  let [wallMs, cpuMs, writtenBytes] = [0, 0, column === undefined ? undefined : 0]
  return {
    async time<Result>(work: () => Promise<Result>): Promise<Result> {
      const written = writtenSoFar(column)
      const cpu = process.cpuUsage()
      const startMs = performance.now()
      const result = await work()
      wallMs += performance.now() - startMs
      const { user, system } = process.cpuUsage(cpu)
      cpuMs += (user + system) / 1000
      if (writtenBytes !== undefined) writtenBytes += writtenSoFar(column) - written
      return result
    },
    // The kernel counts in KiB.
    result: () => ({ wallMs, cpuMs, peakRssBytes: resourceUsage().maxRSS * 1024, writtenBytes }),
  }
}

/** Watches from now on for how long at most, by the clock, the event loop of this process cannot look at anything new. */
export function watchEventLoop(): () => Required<Pick<Measurement, 'longestBlockMs'>> {
  const delay = monitorEventLoopDelay({ resolution: 5 })
  delay.enable()
  return () => ({ longestBlockMs: delay.max / 1e6 })
}

/** Prints what was measured, for the process that started this one. */
export function printMeasurement(measurement: Measurement): void {
  process.stdout.write(`${JSON.stringify(measurement)}\n`)
}

const TMPFS = 0x0102_1994

/**
 * Which count of /proc/self/io says how many bytes were written in this folder. `write_bytes` are the pages handed to the
 * disk: a page rewritten before it went there counts once. In memory no page ever goes to a disk; there `wchar`, the bytes
 * passed to write(2), is all there is, and it holds requests and output too.
 */
function writtenColumn(folder: string): 'write_bytes' | 'wchar' | undefined {
  if (process.platform !== 'linux') return undefined
  return statfsSync(folder).type === TMPFS ? 'wchar' : 'write_bytes'
}

/** Bytes written in this folder from now on, by this process and by children that have ended: a function that counts them. */
export function countWritten(folder: string): () => number | undefined {
  const column = writtenColumn(folder)
  const before = writtenSoFar(column)
  return () => (column === undefined ? undefined : writtenSoFar(column) - before)
}

/** CPU time so far of children that have ended, and of theirs, in steps of 10 ms; undefined where the system does not say. */
export function childrenCpuMs(): number | undefined {
  if (process.platform !== 'linux') return undefined
  const stat = readFileSync('/proc/self/stat', 'utf8')
  // The name before the last bracket may hold spaces. Fields 16 and 17 are `cutime` and `cstime`, in hundredths of a second.
  const [user, system] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(13, 15)
  return (Number(user) + Number(system)) * 10
}

function writtenSoFar(column: string | undefined): number {
  if (column === undefined) return 0
  const line = readFileSync('/proc/self/io', 'utf8')
    .split('\n')
    .find((text) => text.startsWith(`${column}: `))
  return Number(line?.slice(column.length + 2) ?? 0)
}

/** On what was measured, and how bytes written are counted in this folder. */
export function describeMachine(folder: string): Record<string, string> {
  const { model = 'unknown processor' } = cpus()[0] ?? {}
  return {
    node: process.version,
    processor: `${availableParallelism()} cores, ${model.trim()}`,
    memory: `${Math.round(totalmem() / 1024 ** 3)} GB`,
    system: `${process.platform} ${release()}`,
    written: WRITTEN[writtenColumn(folder) ?? 'unknown'],
    fileSystem: fileSystemOf(folder),
  }
}

const WRITTEN = {
  write_bytes: 'pages handed to the disk (write_bytes of /proc/self/io)',
  wchar: 'bytes passed to write(2), requests included (wchar of /proc/self/io): this folder is in memory',
  unknown: 'not counted on this system',
}

/** The type of the file system that holds the folder, by the longest mount point above it. */
function fileSystemOf(folder: string): string {
  if (process.platform !== 'linux') return 'unknown'
  const mounts = readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' '))
  const holds = (point: string) => point === '/' || folder === point || folder.startsWith(`${point}/`)
  const holding = mounts.filter(([, point = '']) => point !== '' && holds(point))
  return holding.toSorted(([, a = ''], [, b = '']) => a.length - b.length).at(-1)?.[2] ?? 'unknown'
}
