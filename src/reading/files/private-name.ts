import { randomBytes } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { isOurs } from '../../errors/errors.ts'

/** A private name beside a file, under which what will replace it is made. `ending` says what makes it, such as `backup`. */
export function privateName(file: string, ending: string): string {
  return join(dirname(file), `.${basename(file)}.${randomBytes(8).toString('hex')}.${ending}`)
}

/** The files beside `file` that have such a name, with an ending that `endings` matches as a whole. */
export function listPrivate(file: string, endings: RegExp): string[] {
  const start = `.${basename(file)}.`
  const rest = new RegExp(`^[0-9a-f]{16}\\.(?:${endings.source})$`)
  return readdirSync(dirname(file))
    .filter((name) => name.startsWith(start) && rest.test(name.slice(start.length)))
    .map((name) => join(dirname(file), name))
}

/** The error with the name of the file in place of its private name, which is gone by then and says nothing to anyone. */
export function underItsName(error: unknown, { path, file }: { path: string; file: string }): unknown {
  if (isOurs(error)) error.message = error.message.replaceAll(path, file)
  return error
}
