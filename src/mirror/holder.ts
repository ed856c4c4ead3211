import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import { kill, pid } from 'node:process'

/** Names this process so that another can tell whether it still lives: `machine#process`. */
export function thisHolder(): string {
  return `${machine()}#${pid}`
}

/** Whether the process of that name is known to be gone. False when in doubt: a process of another machine, say. */
export function isGone(holder: string): boolean {
  const [where, processId] = holder.split('#')
  if (where !== machine() || processId === undefined) return false
  try {
    kill(Number(processId), 0)
    return false
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'ESRCH'
  }
}

/**
 * Names what the monotonic clock of this process counts from: processes of the same name read the same time. The containers of
 * a machine do; the machine started again does not.
 */
export function thisBoot(): string {
  return (boot ??= readBoot())
}

/** The same for as long as the process lives, and looked at with every page that is saved. */
let boot: string | undefined

function readBoot(): string {
  try {
    return `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()}/${readlinkSync('/proc/self/ns/time')}`
  } catch {
    return hostname()
  }
}

/** Containers may share a host name and still not see each other's processes, so the process namespace is part of it. */
function machine(): string {
  try {
    return `${hostname()}/${readlinkSync('/proc/self/ns/pid')}`
  } catch {
    return hostname()
  }
}
