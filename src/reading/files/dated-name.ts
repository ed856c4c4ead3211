import { lstatSync, readdirSync } from 'node:fs'
import { basename, dirname, extname, join } from 'node:path'
import { fromSqlTime, sqlTime } from '../../store/port/sql-time.ts'
import { LARGEST_STEP_MS } from '../../time/clock-tolerance.ts'

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
export function tooManyOlder(
  older: readonly string[],
  { file, at, replaced, most }: { file: string; at: string; replaced: string | undefined; most: number },
): string[] {
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
