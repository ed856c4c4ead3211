import { closeSync, openSync, readSync, realpathSync } from 'node:fs'
import { isMissing } from '../../machine/is-missing.ts'
import type { Erased, Traces } from '../../store.ts'
import { openDatabase } from './open-database.ts'
import type { Connection } from './connect.ts'
import { emptyWal, purge } from './purge.ts'
import { systemCode } from '../../errors/faults.ts'

/**
 * Makes sure that no byte of the mirror's files holds any of these traces, whose rows were deleted. Rows that were changed or
 * deleted in earlier nights may have left them in unused parts of the file, which is then written anew, in as much time as a copy
 * of it takes. `isThorough` writes it anew in any case. No other connection of this process may have the mirror open: closing
 * a file that was read beside SQLite would release its locks. Throws MirrorUnusable.
 */
export function eraseTraces(file: string, { id, values }: Traces, { isThorough = false } = {}): Erased {
  try {
    if (!withConnection(file, emptyWal)) return 'busy'
    if (!isThorough && !holdsAny(file, [...id, ...values])) return 'erased'
    if (!withConnection(file, purge)) return 'busy'
    return holdsAny(file, id) ? 'held' : 'erased'
  } catch (error) {
    if (systemCode(error) === undefined) throw error
    return 'busy' // The disk failed while the bytes were looked for.
  }
}

function withConnection(file: string, work: (db: Connection) => boolean): boolean {
  const db = openDatabase(file, 'write')
  try {
    return work(db)
  } finally {
    db.close()
  }
}

const CHUNK_BYTES = 4 * 1024 * 1024

/** Whether the bytes of the file, its WAL or its index hold any of these texts. */
function holdsAny(file: string, texts: readonly string[]): boolean {
  const wanted = texts.map((text) => Buffer.from(text)).filter(({ length }) => length > 0)
  const real = realpathSync(file)
  return [real, `${real}-wal`, `${real}-shm`].some((path) => wanted.length > 0 && fileHolds(path, wanted))
}

function fileHolds(path: string, wanted: readonly Buffer[]): boolean {
  if (isMissing(path)) return false
  const longest = Math.max(...wanted.map(({ length }) => length))
  const buffer = Buffer.alloc(CHUNK_BYTES + longest)
  const descriptor = openSync(path, 'r')
  try {
    for (let kept = 0; ;) {
      const read = readSync(descriptor, buffer, kept, CHUNK_BYTES, null)
      if (read === 0) return false
      const filled = buffer.subarray(0, kept + read)
      if (wanted.some((text) => filled.includes(text))) return true
      // A text may stand across two chunks.
      kept = Math.min(longest - 1, filled.length)
      buffer.copyWithin(0, filled.length - kept, filled.length)
    }
  } finally {
    closeSync(descriptor)
  }
}
