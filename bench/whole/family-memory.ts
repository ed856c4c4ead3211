import { readFileSync } from 'node:fs'

const EVERY_MS = 20

/**
 * Watches a process and its children from the outside. `stop` returns the peaks of all of them together, in bytes; undefined
 * where the system does not say. The kernel keeps each peak, so that only what grew in the last moments can be overlooked.
 */
export function watchMemory(pid: number): { stop(): number | undefined } {
  const peaks = new Map<number, number>()
  const look = () => noteFamily(pid, peaks)
  const timer = setInterval(look, EVERY_MS)
  look()
  return {
    stop() {
      clearInterval(timer)
      look()
      return peaks.size === 0 ? undefined : [...peaks.values()].reduce((sum, bytes) => sum + bytes, 0)
    },
  }
}

function noteFamily(pid: number, peaks: Map<number, number>): void {
  const kibibytes = /^VmHWM:\s+(\d+) kB/m.exec(textOf(`/proc/${pid}/status`))?.[1]
  if (kibibytes !== undefined) peaks.set(pid, Math.max(peaks.get(pid) ?? 0, Number(kibibytes) * 1024))
  const children = textOf(`/proc/${pid}/task/${pid}/children`).split(' ').filter(Boolean)
  for (const child of children) noteFamily(Number(child), peaks)
}

/** Nothing when the process has ended, or the system has no such files. */
function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
