import { readFileSync } from 'node:fs'
import { availableParallelism, cpus, release, totalmem } from 'node:os'
import { writtenColumn } from './measure.ts'

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
