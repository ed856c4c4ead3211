import { X509Certificate } from 'node:crypto'
import { EventEmitter } from 'node:events'
import { readFileSync } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { Socket } from 'node:net'
import type { ConnectionOptions } from 'node:tls'
import { getFileName, type Login, match, parseLine } from 'pgpass/lib/helper.js'
import { UsageError } from '../errors/errors.ts'
import { codeOf, systemCode } from '../errors/faults.ts'
import type { PostgresAddress } from './postgres-address.ts'

export type PostgresSettings = ReturnType<typeof postgresSettings>

/** How the driver reaches the server: it would read the TLS modes of an address in its own way. Throws what `refused` makes of a bad certificate. */
export function postgresSettings(address: PostgresAddress, refused: (what: string) => Error) {
  const { host, port, user, password, database } = address
  return { host, port, user, password, database, ssl: tlsSettings(address, refused) }
}

/** As libpq has it: `require` checks nothing, unless an authority is named. */
function tlsSettings({ tlsMode, rootCertificate }: PostgresAddress, refused: (what: string) => Error) {
  if (tlsMode === 'disable') return false
  if (tlsMode === 'require' && rootCertificate === undefined) return { rejectUnauthorized: false }
  const tls = { rejectUnauthorized: true, ...(tlsMode !== 'verify-full' && { checkServerIdentity: () => undefined }) }
  return rootCertificate === undefined ? tls : trusting(rootCertificate, tls, refused)
}

/** Each new connection trusts what the file holds then, as with libpq, since authorities are replaced; while it cannot be used, what it held last. */
function trusting(file: string, checks: ConnectionOptions, refused: (what: string) => Error): ConnectionOptions {
  let last = certificatesIn(file, refused)
  return {
    ...checks,
    get ca() {
      try {
        last = certificatesIn(file, refused)
      } catch {
        // It is being replaced, or was removed.
      }
      return last
    },
  }
}

/** Node.js takes a file without a certificate as one that trusts no server, and says so of the server. */
function certificatesIn(file: string, refused: (what: string) => Error): string {
  try {
    const text = readFileSync(file, 'utf8')
    void new X509Certificate(text)
    return text
  } catch (error) {
    const code = systemCode(error)
    const what =
      code === undefined ? 'holds no whole certificate in PEM (BEGIN CERTIFICATE)' : `cannot be read (${code})`
    throw refused(`sslrootcert names ${file}, which ${what}. Correct it in the address.`)
  }
}

/**
 * Gives a client without a password that of the password file, and has one that cannot log in or write close its connection. The driver's own
 * way warns, and takes the last line that fits where PostgreSQL takes the first; a failed login would hold the process until the server gives up.
 */
export function prepareLogin(client: Login & { password?: string | null | undefined }): void {
  if ((client.password ?? '') === '') Object.assign(client, { password: () => passwordInFile(client) })
  const connection: unknown = 'connection' in client ? client.connection : undefined
  if (!(connection instanceof EventEmitter)) return
  const leave = () => {
    // TLS puts another one in the place of the first.
    if ('stream' in connection && connection.stream instanceof Socket) connection.stream.destroy()
  }
  connection.on('error', leave)
  // A standby keeps its connections, while the address may lead to the primary again.
  connection.on('errorMessage', (error) => codeOf(error) === '25006' && leave())
}

/** The password for a login in the file of PGPASSFILE, or else in ~/.pgpass. Throws UsageError if other users may read the file. */
async function passwordInFile(login: Login): Promise<string | undefined> {
  const file = getFileName()
  const found = await stat(file).catch(() => undefined)
  if (found?.isFile() !== true) return undefined
  // Windows keeps no such modes.
  if (process.platform !== 'win32' && (found.mode & 0o077) !== 0)
    throw new UsageError(
      `The password file ${file} is open to other users of this machine, so it is not used. Close it to them: chmod 600 ${file}`,
    )
  return passwordFor(login, await readFile(file, 'utf8').catch(() => ''))
}

/** The password of the first line that fits, `host:port:database:user:password`, where `*` fits all; undefined if none fits. */
export function passwordFor(login: Login, text: string): string | undefined {
  // A socket is on this machine.
  const hosts = login.host.startsWith('/') ? [login.host, 'localhost'] : [login.host]
  const lines = text.split(/\r?\n/).map(parseLine)
  return lines.find((line) => line !== null && hosts.some((host) => match({ ...login, host }, line)))?.password
}
