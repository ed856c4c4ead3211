import { open, realpath, type FileHandle } from 'node:fs/promises'

/** A flush for so many pages of 4 KB: a few megabytes. */
const PAGES_AT_ONCE = 500
/** Rows that follow each other share pages. Any other row changes a page of its own, and about two of the indexes. */
const PAGES_OF_CUSTOMER = { inARow: 0.1, anywhere: 3 }

/**
 * Flushes the WAL of the mirror at `file` to the disk, in parallel with the run. Before a checkpoint SQLite waits until the WAL is
 * on the disk, and all other work waits with it; data that is flushed already needs no wait: an initial sync is 6 % shorter. Only on
 * Linux: elsewhere a flush costs more than it saves, or needs a file that is open for writing.
 */
export function flushWal(file: string, platform: string = process.platform): WalFlush {
  let opened: Promise<FileHandle> | undefined
  let underWay: Promise<void> | undefined
  let unflushed = 0
  let mayFlush = platform === 'linux'
  return {
    wrote(customers, where) {
      unflushed += customers * PAGES_OF_CUSTOMER[where]
      if (!mayFlush || unflushed < PAGES_AT_ONCE || underWay !== undefined) return
      unflushed = 0
      opened ??= openWal(file)
      underWay = opened
        .then((wal) => wal.datasync())
        // SQLite flushes the same bytes before it relies on them, and gets the same errors.
        .catch(() => {})
        .finally(() => {
          underWay = undefined
        })
    },
    async close() {
      mayFlush = false
      await underWay
      const wal = await opened?.catch(() => undefined)
      await wal?.close().catch(() => {})
    },
  }
}

/**
 * Opens the WAL. It exists from the first transaction until SQLite closes the file, beside the file itself and not beside a link to
 * it. SQLite holds no locks on the WAL; closing another of its files would release SQLite's locks.
 */
async function openWal(file: string): Promise<FileHandle> {
  return open(`${await realpath(file)}-wal`, 'r')
}

export type WalFlush = {
  /** Call after each transaction, with the number of customers written, and whether they stand in a row and no index was written. */
  wrote(customers: number, where: keyof typeof PAGES_OF_CUSTOMER): void
  /** Waits for a running flush. Call it before SQLite closes the file. */
  close(): Promise<void>
}
