import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import type { Mirror } from '../../../store.ts'
import { BUSY_TIMEOUT_MS } from '../opening/connect.ts'
import type { Connection } from '../opening/database.ts'
import { findLock } from '../opening/write-lock.ts'
import type { Upkeep } from './upkeep.ts'

/** The transaction of another program is mostly over in a moment, for which the event loop may wait. */
const MOMENT_MS = 50
/** How long to wait for it before the next look: first this, then twice as long each time. */
const FIRST_WAIT_MS = 5
const LONGEST_WAIT_MS = 50

/** The upkeep as the verbs of a mirror use it: they wait for it before they write, and report to it that they wrote. */
export type Beside = Pick<Upkeep, 'closed' | 'isEnding' | 'findLock' | 'wrote' | 'close'>

/** No upkeep: the verbs wait for other programs alone, until `signal` is aborted. */
export function withoutUpkeep(db: Connection, file: string, signal: AbortSignal | undefined): Beside {
  return {
    closed: undefined,
    get isEnding() {
      return signal?.aborted === true || !db.open
    },
    findLock: (patienceMs) => findLock(db, file, patienceMs),
    wrote() {},
    async close() {},
  }
}

/** The same mirror, whose writing verbs wait for the upkeep, and for other programs, where they would block the event loop instead. */
export function besideUpkeep(mirror: Mirror, upkeep: Beside): Mirror {
  let lastTurn = Promise.resolve()
  /** Those that waited go on one by one, each in its turn of the event loop. */
  const takeTurn = (): Promise<void> => (lastTurn = lastTurn.then(() => nextTurn()))
  const whileClosed = async () => {
    while (upkeep.closed !== undefined) {
      await upkeep.closed
      await takeTurn()
    }
  }
  /** No other task may begin between the last look and the work. */
  const write = async <Result>(work: () => Promise<Result>, onWaiting?: () => void): Promise<Result> => {
    if (upkeep.closed !== undefined) onWaiting?.()
    await whileClosed()
    let [waitMs, waitedMs] = [FIRST_WAIT_MS, 0]
    for (let locked = upkeep.findLock(MOMENT_MS); locked !== undefined; locked = upkeep.findLock(0)) {
      // As long as SQLite would wait for it.
      if (waitedMs >= BUSY_TIMEOUT_MS) throw locked
      onWaiting?.()
      await sleep(waitMs)
      waitedMs += waitMs
      waitMs = Math.min(2 * waitMs, LONGEST_WAIT_MS)
      if (upkeep.isEnding) throw locked
      await whileClosed()
    }
    try {
      return await work()
    } finally {
      upkeep.wrote()
    }
  }
  return {
    ...mirror,
    startRun: (start) => write(() => mirror.startRun(start)),
    applyPrivacy: (run, nowMs) => write(() => mirror.applyPrivacy(run, nowMs)),
    savePages: (run, pages, nowMs, onWaiting) => write(() => mirror.savePages(run, pages, nowMs), onWaiting),
    renewLease: (run, nowMs) => write(() => mirror.renewLease(run, nowMs)),
    finishRun: (run, ending, nowMs) => write(() => mirror.finishRun(run, ending, nowMs)),
    prune: (...pruning) => write(() => mirror.prune(...pruning)),
    approveRemovals: (runId, nowMs) => write(() => mirror.approveRemovals(runId, nowMs)),
    discardRemovals: (runId) => write(() => mirror.discardRemovals(runId)),
    forgetCustomer: (asked) => write(() => mirror.forgetCustomer(asked)),
    readmitCustomer: (asked) => write(() => mirror.readmitCustomer(asked)),
    close: async () => {
      await upkeep.close()
      await mirror.close()
    },
  }
}
