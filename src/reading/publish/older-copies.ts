import { existsSync, linkSync, lstatSync, readdirSync, rmSync } from 'node:fs'
import { basename, dirname, extname, join } from 'node:path'
import { CopyFailed } from '../../errors.ts'
import { kindOfFile } from '../file-kind.ts'
import { readManifest } from './manifest.ts'

/**
 * Gives the copy that is about to be replaced a second name with the time at which it was published, such as
 * `customers-20261122T021500123Z.db`. Returns that name; undefined where there is no copy yet.
 */
export function keepOlderCopy(file: string): string | undefined {
  const found = lstatSync(file, { throwIfNoEntry: false })
  if (found === undefined || kindOfFile(file) !== 'copy') return undefined
  const older = olderName(file, timeIn(readManifest(file)?.publishedAt) ?? timeIn(found.mtime.toISOString()) ?? '')
  try {
    linkSync(file, older)
    return older
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return undefined
    throw new CopyFailed(
      `${older}: cannot be made as a second name of the copy that is there. Remove keep from the configuration, or ` +
        'publish to a file system with hard links. The copy was not replaced.',
      { code: 'copy-unwritable' },
      { cause: error },
    )
  }
}

/** Removes the oldest copies beyond `keep`. */
export function pruneOlderCopies(file: string, keep: number): void {
  const older = olderCopies(file)
  for (const path of older.slice(0, Math.max(0, older.length - keep))) rmSync(path, { force: true })
}

/** The older copies beside a copy, the oldest first: only those made by this program. */
export function olderCopies(file: string): string[] {
  if (!existsSync(dirname(file))) return []
  return listOlder(file).filter((path) => kindOfFile(path) === 'copy')
}

/** The files beside `file` that have its name with a time in it, oldest first. */
export function listOlder(file: string): string[] {
  const [start, ending] = olderName(file, '\n').split('\nZ')
  return readdirSync(dirname(file))
    .map((name) => join(dirname(file), name))
    .filter((path) => path.startsWith(start ?? '') && path.endsWith(ending ?? ''))
    .filter((path) => /^\d{8}T\d{9}Z$/.test(path.slice(start?.length, path.length - (ending?.length ?? 0))))
    .filter((path) => lstatSync(path, { throwIfNoEntry: false })?.isFile() === true)
    .toSorted()
}

/** `2026-11-22 02:15:00.123` as `20261122T021500123`. */
export function timeIn(text = ''): string | undefined {
  const digits = text.replaceAll(/\D/g, '')
  return digits.length === 17 ? `${digits.slice(0, 8)}T${digits.slice(8)}` : undefined
}

/** The name of `file` with a time in it, before its ending. */
export function olderName(file: string, time: string): string {
  const ending = extname(file)
  return join(dirname(file), `${basename(file, ending)}-${time}Z${ending}`)
}
