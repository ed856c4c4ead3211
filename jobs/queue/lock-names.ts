import { bootName } from '../../src/machine/boot-name.ts'
import { isGone, nameOfProcess } from '../../src/machine/process-name.ts'

/**
 * Names this process in the locks of its jobs: `machine#process#start#boot`. A queue may serve several machines, and two of them may have
 * the same name; their boots differ.
 */
export function lockName(): string {
  return `${nameOfProcess()}#${bootName() ?? ''}`
}

/**
 * Whether a lock, or the name of a worker, is that of a process of this machine which is gone. False where that cannot be seen: a process
 * of another machine or of another container, of a time before the machine was restarted, or of a version that did not name itself.
 */
export function isOfGoneProcess(lock: string): boolean {
  const [machine, id, start, boot] = lock.split('#')
  return Boolean(boot) && boot === bootName() && isGone(`${machine}#${id}#${start}`) === true
}

/** Whether a lock is that of this process. */
export function isOwnLock(lock: string): boolean {
  return lock === lockName() || lock.startsWith(`${lockName()}#`)
}

/** Lets the locks of a worker name its process. To be called before the worker takes jobs. */
export function nameLocks(worker: { readonly id: string }): void {
  Object.assign(worker, { id: `${lockName()}#${worker.id}` })
}
