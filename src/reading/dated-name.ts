import { lstatSync, readdirSync } from 'node:fs'
import { basename, dirname, extname, join } from 'node:path'

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
