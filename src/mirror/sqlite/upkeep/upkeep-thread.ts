import { parentPort, workerData } from 'node:worker_threads'
import { BUSY_TIMEOUT_MS, connect } from '../opening/connect.ts'
import type { Connection } from '../opening/database.ts'
import { createIdIndex } from '../run/id-index.ts'
import { identityOf } from '../opening/file-identity.ts'
import { createReadingIndexes } from '../reading/reading-indexes.ts'
import type { UpkeepFile, UpkeepTask } from './start-thread.ts'

/** The thread that keeps a mirror in order: it has a connection of its own, and answers each task with whether it was done. */
// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the border between two threads of this program
const { file, identity } = workerData as UpkeepFile
let opened: Connection | undefined

const TASKS: Record<UpkeepTask, (db: Connection) => void> = {
  checkpoint: (db) => db.pragma('wal_checkpoint(PASSIVE)'),
  index: (db) => db.transaction(() => createMissing(db)).immediate(),
}

function createMissing(db: Connection): void {
  createIdIndex(db)
  createReadingIndexes(db)
}

parentPort?.on('message', (task: UpkeepTask | 'close') => {
  if (task === 'close') {
    opened?.close()
    parentPort?.close()
    return
  }
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  parentPort?.postMessage(isDone(TASKS[task]))
})

/** A file that was put in place of the mirror is left alone: beside it stands the WAL of the one before. */
function isDone(work: (db: Connection) => void): boolean {
  try {
    if (identityOf(file) !== identity) return false
    work((opened ??= open()))
    return true
  } catch {
    return false
  }
}

function open(): Connection {
  const db = connect(file, { fileMustExist: true, timeout: BUSY_TIMEOUT_MS })
  db.pragma('synchronous = NORMAL')
  return db
}
