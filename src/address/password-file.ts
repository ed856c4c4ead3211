import { readFile, stat } from 'node:fs/promises'
import { getFileName } from 'pgpass/lib/helper.js'
import { UsageError } from '../errors/errors.ts'

/** What a connection logs in to, and as whom. */
export type Login = { host: string; port: number; database?: string | undefined; user?: string | undefined }

/**
 * Gives a connection without a password that of the password file, if the server asks for one. The driver's own way to read the file prints a
 * warning, and takes the last line that fits where PostgreSQL takes the first.
 */
export function usePasswordFile(connection: Login & { password?: string | null | undefined }): void {
  if ((connection.password ?? '') !== '') return
  Object.assign(connection, { password: () => passwordInFile(connection) })
}

/**
 * The password in the file of PGPASSFILE, or else in ~/.pgpass; undefined if it has none for this login. Throws UsageError if other users may
 * read the file.
 */
async function passwordInFile(login: Login): Promise<string | undefined> {
  const file = getFileName()
  const found = await stat(file).catch(() => undefined)
  if (found?.isFile() !== true) return undefined
  // Windows keeps no such modes.
  if (process.platform !== 'win32' && (found.mode & 0o077) !== 0) {
    throw new UsageError(
      `The password file ${file} is open to other users of this machine, so it is not used. Close it to them: chmod 600 ${file}`,
    )
  }
  return passwordFor(login, await readFile(file, 'utf8').catch(() => ''))
}

/** The password of the first line that fits, `host:port:database:user:password`, where `*` fits all; undefined if none fits. */
export function passwordFor({ host, port, database, user }: Login, text: string): string | undefined {
  // A socket is on this machine.
  const hosts = host.startsWith('/') ? [host, 'localhost'] : [host]
  const asked = [hosts, [String(port)], [database], [user]]
  for (const line of text.split(/\r?\n/)) {
    const [, ...fields] = LINE.exec(line) ?? []
    const password = fields.pop()
    const fits = asked.every((names, at) => fields[at] === '*' || names.includes(plain(fields[at])))
    if (password !== undefined && fits) return plain(password)
  }
  return undefined
}

const FIELD = String.raw`((?:\\.|[^:\\])*)`
const LINE = new RegExp(`^(?!#)${Array<string>(5).fill(FIELD).join(':')}`)

/** A field without the backslashes before its colons and backslashes. */
function plain(field: string | undefined): string | undefined {
  return field?.replaceAll(/\\(.)/g, '$1')
}
