import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { ConnectionOptions } from 'node:tls'
import { codeOf } from '../errors/faults.ts'
import type { PostgresAddress, Tls } from './postgres-address.ts'

/** What the driver is given. Without a user or a password it takes those of PGUSER, PGPASSWORD or a password file. */
export type PostgresSettings = Pick<PostgresAddress, 'host' | 'database'> &
  Partial<{ port: number; user: string; password: string }> & { ssl: false | ConnectionOptions }

/**
 * How the driver reaches the server of an address: not by the address itself, in which the driver would read TLS modes in its own way. Throws
 * what `refused` makes of a sentence where the address names no certificate.
 */
export function postgresSettings(
  { host, port, user, password, database, tls }: PostgresAddress,
  refused: (what: string) => Error,
): PostgresSettings {
  return {
    host,
    database,
    ssl: tlsSettings(tls, refused),
    ...(port !== undefined && { port }),
    ...(user !== undefined && { user }),
    ...(password !== undefined && { password }),
  }
}

/** As libpq has it: `require` checks nothing, unless an authority is named. */
function tlsSettings({ mode, rootCertificate }: Tls, refused: (what: string) => Error): PostgresSettings['ssl'] {
  if (mode === 'disable') return false
  if (mode === 'require' && rootCertificate === undefined) return { rejectUnauthorized: false }
  const checks = {
    rejectUnauthorized: true,
    ...(mode !== 'verify-full' && { checkServerIdentity: () => undefined }),
  }
  return rootCertificate === undefined ? checks : trusting(rootCertificate, checks, refused)
}

/**
 * Has each new connection trust what the file holds then, as libpq does: a worker runs for months, and authorities are replaced meanwhile.
 * While the file cannot be used, what it held last is trusted.
 */
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
  const without = (what: string) => refused(`sslrootcert names ${file}, ${what}. Correct it in the address.`)
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    const code = codeOf(error) ?? 'unknown'
    throw without(`which cannot be read (${code})`)
  }
  if (!isCertificate(text)) throw without('which holds no whole certificate in PEM (BEGIN CERTIFICATE)')
  return text
}

function isCertificate(text: string): boolean {
  try {
    return new X509Certificate(text).raw.length > 0
  } catch {
    return false
  }
}
