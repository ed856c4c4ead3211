import { open, realpath, type FileHandle } from 'node:fs/promises'

/** So many customers take some megabytes of the journal. */
const CUSTOMERS_AT_ONCE = 5000

/**
 * Puts what SQLite writes to the journal of the mirror at `file` on the disk, beside the work that goes on. Most of all before
 * it moves the journal into the file SQLite waits for the disk, and everything else waits with it: for what is there already
 * it need not. Only on Linux: elsewhere a flush costs more than it spares, or cannot be asked for by whoever only reads.
 */
export function flushJournal(file: string, platform: string = process.platform): JournalFlush {
  let opened: Promise<FileHandle> | undefined
  let underWay: Promise<void> | undefined
  let unflushed = 0
  let mayFlush = platform === 'linux'
  return {
    wrote(customers) {
      unflushed += customers
      if (!mayFlush || unflushed < CUSTOMERS_AT_ONCE || underWay !== undefined) return
      unflushed = 0
      opened ??= openJournal(file)
      underWay = opened
        .then((journal) => journal.datasync())
        // SQLite waits for the same bytes before it relies on them, and is told of the same errors.
        .catch(() => {})
        .finally(() => {
          underWay = undefined
        })
    },
    async close() {
      mayFlush = false
      await underWay
      const journal = await opened?.catch(() => undefined)
      await journal?.close().catch(() => {})
    },
  }
}

/**
 * There is one from the first transaction until SQLite closes the file, beside the file itself, and not beside a link to it.
 * SQLite holds no locks on it; to open and close another of its files would take those away.
 */
async function openJournal(file: string): Promise<FileHandle> {
  return open(`${await realpath(file)}-wal`, 'r')
}

export type JournalFlush = {
  /** To be told, after each transaction, how many customers it wrote. */
  wrote(customers: number): void
  /** Waits for what is under way. To be called before SQLite closes the file. */
  close(): Promise<void>
}
