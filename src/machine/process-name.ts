import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import { codeOf } from '../errors/faults.ts'

/** Names a process so that another can find out whether it is gone: `machine#process#start`, since numbers of processes are used again. */
export function nameOfProcess(id = process.pid): string {
  return `${thisMachine()}#${id}#${statusOf(id)[1]}`
}

/** Whether the process of that name is gone; undefined where that cannot be seen: a process of another machine, say. */
export function isGone(name: string): boolean | undefined {
  const [machine, id, start] = name.split('#')
  if (machine !== thisMachine() || id === undefined) return undefined
  if (!isAlive(Number(id))) return true
  const [state, startNow] = statusOf(Number(id))
  // It has ended, and its parent has not asked how.
  if (state === 'Z' || state === 'X') return true
  // The start of either may be unknown; then the number has to do.
  return Boolean(start) && startNow !== '' && startNow !== start
}

function isAlive(id: number): boolean {
  try {
    process.kill(id, 0)
    return true
  } catch (error) {
    return codeOf(error) !== 'ESRCH'
  }
}

/** Containers may share a host name and still not see each other's processes, so the process namespace is part of it. */
function thisMachine(): string {
  try {
    return `${hostname()}/${readlinkSync('/proc/self/ns/pid')}`
  } catch {
    return hostname()
  }
}

/** The letter of a process's state, and when it was started, in ticks since the machine was; both empty where the system does not say. */
function statusOf(id: number): [state: string, start: string] {
  try {
    const text = readFileSync(`/proc/${id}/stat`, 'utf8')
    // The name of the program stands in parentheses and may hold anything; the start is the 20th word after it.
    const [state = '', ...words] = text.slice(text.lastIndexOf(')') + 2).split(' ')
    return [state, words[18] ?? '']
  } catch {
    return ['', '']
  }
}

/** A process for people: `process 1234 on host`. */
export function processWords(name: string): string {
  const [machine = '', id = ''] = name.split('#')
  return `process ${id} on ${machine.split('/')[0]}`
}

/**
 * Names the start of this machine, and with it that of the monotonic clock: processes with the same name, in all containers, read the same time. No
 * other machine has it, nor this one after a restart. Undefined where the system does not say. Read once: every saved page needs it.
 */
export const BOOT_NAME = readBoot()

function readBoot(): string | undefined {
  try {
    return `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()}/${readlinkSync('/proc/self/ns/time')}`
  } catch {
    return undefined
  }
}
