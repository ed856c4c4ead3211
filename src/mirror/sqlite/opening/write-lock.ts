import Database from 'better-sqlite3'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Mirror } from '../../../store.ts'
import { BUSY_TIMEOUT_MS } from './connect.ts'
import { openDatabase, type Connection } from './database.ts'
import { sqliteError } from './file-errors.ts'

/*
 * SQLite waits for the transaction of another program in the call that needs the lock, and this process then hears no signal and answers no
 * health check. So what opens and writes a mirror waits here, as long as SQLite would, and the event loop goes on.
 */

/** For how long an attempt to open the mirror may block the event loop, and the pause before the next one. */
const ATTEMPT_MS = 50
const PAUSE_MS = 100

/** Opens the mirror at `file` to write, as `openDatabase` does, and waits for other programs, or until `signal` is aborted. */
export async function openPatiently(file: string, signal: AbortSignal | undefined): Promise<Connection> {
  for (let waitedMs = 0; ; waitedMs += ATTEMPT_MS + PAUSE_MS) {
    try {
      const db = openDatabase(file, 'write', ATTEMPT_MS)
      db.pragma(`busy_timeout = ${BUSY_TIMEOUT_MS}`)
      return db
    } catch (error) {
      if (waitedMs >= BUSY_TIMEOUT_MS || signal?.aborted === true) throw error
      if (!(error instanceof Error && isBusy(error.cause))) throw error
    }
    await sleep(PAUSE_MS)
  }
}

/** The transaction of another program is mostly over in a moment, for which the event loop may wait. */
const MOMENT_MS = 50
/** How long to wait for it before the next look: first this, then twice as long each time. */
const FIRST_WAIT_MS = 5
const LONGEST_WAIT_MS = 50

/** The same mirror, whose writing verbs wait for other programs, until `signal` is aborted or the mirror is closed. */
export function withPatience(mirror: Mirror, db: Connection, signal: AbortSignal | undefined): Mirror {
  /** No other task may begin between the last look and the work. */
  const write = async <Result>(work: () => Promise<Result>, onWaiting?: () => void): Promise<Result> => {
    let [waitMs, waitedMs] = [FIRST_WAIT_MS, 0]
    for (let locked = findLock(db, MOMENT_MS); locked !== undefined; locked = findLock(db, 0)) {
      // As long as SQLite would wait for it.
      if (waitedMs >= BUSY_TIMEOUT_MS) throw locked
      onWaiting?.()
      await sleep(waitMs)
      waitedMs += waitMs
      waitMs = Math.min(2 * waitMs, LONGEST_WAIT_MS)
      if (signal?.aborted === true || !db.open) throw locked
    }
    return work()
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
  }
}

/**
 * The error of a transaction that has waited in vain for the one of another program, for `patienceMs`; undefined where a transaction would
 * not wait now, which takes some microseconds to find out.
 */
function findLock(db: Connection, patienceMs: number): unknown {
  db.pragma(`busy_timeout = ${patienceMs}`)
  try {
    db.exec('BEGIN IMMEDIATE')
    db.exec('ROLLBACK')
    return undefined
  } catch (error) {
    return isBusy(error) ? sqliteError(error, db.name) : undefined
  } finally {
    db.pragma(`busy_timeout = ${BUSY_TIMEOUT_MS}`)
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof Database.SqliteError && error.code.startsWith('SQLITE_BUSY')
}
