import { open, type FileHandle } from 'node:fs/promises'

/** So many customers take some megabytes of the journal. */
const CUSTOMERS_AT_ONCE = 5000

/**
 * Puts what SQLite writes to the journal of the mirror at `file` on the disk, beside the work that goes on. SQLite itself
 * waits for the disk only before it moves the journal into the file, and everything else waits with it: for what is there
 * already it need not.
 */
export function flushJournal(file: string): JournalFlush {
  let opened: Promise<FileHandle> | undefined
  let underWay: Promise<void> | undefined
  let unflushed = 0
  return {
    wrote(customers) {
      unflushed += customers
      if (unflushed < CUSTOMERS_AT_ONCE || underWay !== undefined) return
      unflushed = 0
      // There is one from the first transaction until SQLite closes the file.
      opened ??= open(`${file}-wal`, 'r')
      underWay = opened
        .then((journal) => journal.datasync())
        // SQLite waits for the same bytes before it relies on them, and is told of the same errors.
        .catch(() => {})
        .finally(() => {
          underWay = undefined
        })
    },
    async close() {
      await underWay
      const journal = await opened?.catch(() => undefined)
      await journal?.close()
    },
  }
}

export type JournalFlush = {
  /** To be told, after each transaction, how many customers it wrote. */
  wrote(customers: number): void
  /** Waits for what is under way. To be called before SQLite closes the file. */
  close(): Promise<void>
}
