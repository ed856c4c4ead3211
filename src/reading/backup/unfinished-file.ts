import { closeSync, fsyncSync, openSync, readdirSync, rmSync } from 'node:fs'
import { randomBytes } from 'node:crypto'
import { basename, dirname, join } from 'node:path'

/** What SQLite may keep beside a file while it is open. */
export const JOURNALS = ['-journal', '-wal', '-shm'] as const

/** A mirror that is being written under a private name beside the file that it will replace. */
export type UnfinishedFile = {
  path: string
  /** Waits until all of it is on the disk. */
  flush(): void
  /** Removes what was not put in its place. */
  remove(): void
}

/** Makes an empty private file beside `file`. `ending` says what it is for: `backup` or `restore`. */
export function unfinishedFile(file: string, ending: Ending): UnfinishedFile {
  const path = join(dirname(file), `.${basename(file)}.${randomBytes(8).toString('hex')}.${ending}`)
  closeSync(openSync(path, 'wx', 0o600))
  return {
    path,
    flush() {
      const descriptor = openSync(path, 'r+')
      try {
        fsyncSync(descriptor)
      } finally {
        closeSync(descriptor)
      }
    },
    remove() {
      for (const name of ['', ...JOURNALS]) rmSync(path + name, { force: true })
    },
  }
}

type Ending = 'backup' | 'restore'

/** Removes what was left by a process that was killed. The caller makes sure that none is under way. */
export function removeUnfinished(file: string, ending: Ending): void {
  const start = `.${basename(file)}.`
  for (const name of readdirSync(dirname(file))) {
    const rest = name.startsWith(start) ? name.slice(start.length) : ''
    if (new RegExp(`^[0-9a-f]{16}\\.${ending}(-journal|-wal|-shm)?$`).test(rest))
      rmSync(join(dirname(file), name), { force: true })
  }
}
