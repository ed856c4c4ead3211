import { linkSync, lstatSync, readdirSync, renameSync } from 'node:fs'
import { basename, dirname, extname, join } from 'node:path'
import { MirrorUnusable } from '../errors/errors.ts'
import { codeOf } from '../errors/faults.ts'
import { fromSqlTime, sqlTime } from '../store/port/sql.ts'
import { LARGEST_STEP_MS } from '../time/moments.ts'
import { afterPlacing, LeftUndone } from './copy-error.ts'
import { isSame } from './target-place.ts'
import { removeFile, removeIfPossible } from './written-file.ts'

/*
 * Older backups and copies, which are kept beside the newest one under its name with a time in it, and the exchange of one for the other.
 */

/**
 * Gives the file at `file`, which is about to be replaced, a second name with the time `at`, such as `customers-20261122T021500123Z.db`, or
 * with that of the file where it cannot say its own. Undefined where there is no file yet, or where it has that name already.
 */
export function keepOlder(file: string, at: string | undefined): SecondName | undefined {
  const found = lstatSync(file, { throwIfNoEntry: false })
  if (found === undefined || found.size === 0) return undefined
  try {
    return giveSecondName(file, olderName(file, timeIn(at) ?? timeIn(found.mtime.toISOString()) ?? ''))
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return undefined
    throw error
  }
}

type Kept = { file: string; at: string; replaced: string | undefined; most: number }

/**
 * Removes the oldest files beside `file`, which is in its place and of the moment `at`, so that `most` of those that are ours are left. Returns
 * what was removed. Throws LeftUndone.
 */
export function removeTooMany(kept: Kept, isOurs: (path: string) => boolean): string[] {
  return afterPlacing('an older one could not be removed', () => {
    const tooMany = tooManyOlder(listOlder(kept.file).filter(isOurs), kept)
    tooMany.forEach(removeFile)
    return tooMany
  })
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

/**
 * Which of the files beside `file`, the oldest first, are too many where `most` are kept. Those dated after `file` itself, which is of
 * the moment `at`, go first: a clock that was ahead has named them, and they would stand before all later ones for as long. The one that
 * `file` has just replaced goes last, whatever its date.
 */
function tooManyOlder(older: readonly string[], { file, at, replaced, most }: Kept): string[] {
  const latest = olderName(file, timeIn(sqlTime(fromSqlTime(at) + LARGEST_STEP_MS)) ?? '')
  const rank = (path: string) => (path === replaced ? 2 : path > latest ? 0 : 1)
  return older.toSorted((one, other) => rank(one) - rank(other)).slice(0, Math.max(0, older.length - most))
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

/** A file that is about to be replaced, and the name that it keeps. */
export type SecondName = {
  kept: string
  /** Makes it what and where it was before. Throws MirrorUnusable where the disk does not let it. */
  takeBack(): void
}

/**
 * Gives the file at `place` the name `kept` too, so that there is a file at its place at any time. It leaves its place already on a file
 * system without hard links, such as those of many network shares and memory sticks. Throws the error of the system, EEXIST where there is
 * a file of that name.
 */
export function giveSecondName(place: string, kept: string): SecondName {
  try {
    linkSync(place, kept)
  } catch (error) {
    if (!WITHOUT_LINKS.has(codeOf(error) ?? '')) throw error
    return moveAside(place, kept)
  }
  return {
    kept,
    takeBack() {
      // A network may report a rename as failed that was done: then the second name is the only one.
      if (isSame(place, kept)) removeIfPossible([kept])
    },
  }
}

const WITHOUT_LINKS = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'])

/** Gives the file at `place` the name `kept` in place of its own. Throws the error of the system. */
export function moveAside(place: string, kept: string): SecondName {
  renameSync(place, kept)
  return { kept, takeBack: () => putBack(kept, place) }
}

/**
 * Runs `replace`, which notes each second name that it gives, and returns those names. Where the new file did not get its place, all of
 * them are taken back.
 */
export function replacing(replace: (names: SecondName[]) => void): readonly SecondName[] {
  const names: SecondName[] = []
  try {
    replace(names)
    return names
  } catch (error) {
    if (!(error instanceof LeftUndone)) takeBack(names)
    throw error
  }
}

/** The file itself is the first, and is put back although one beside it could not be. */
function takeBack([first, ...others]: readonly SecondName[]): void {
  if (first === undefined) return
  try {
    takeBack(others)
  } finally {
    first.takeBack()
  }
}

function putBack(kept: string, place: string): void {
  try {
    renameSync(kept, place)
  } catch (error) {
    throw new MirrorUnusable(
      `${place}: could not be replaced, and is ${kept} now, because the disk failed before it had its name again. Check the disk, then ` +
        `rename it. (${codeOf(error)})`,
      { code: 'denied' },
      { cause: error },
    )
  }
}
