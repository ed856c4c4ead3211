import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { ClientConfig } from 'pg'
import { MirrorUnusable, UsageError } from '../../../errors.ts'
import { shownMirror } from '../../../mirror-address.ts'
import { parsePostgresAddress, type PostgresAddress, type Tls } from '../../../postgres-address.ts'
import { codeOf } from '../../../code-of.ts'

/**
 * How the driver reaches the server of an address: not by the address itself, in which the driver would read TLS modes in its own way.
 * Without a user or a password it takes those of PGUSER, PGPASSWORD or a password file. Throws MirrorUnusable where it names no certificate.
 */
export function connectionSettings(address: string): ClientConfig {
  const { host, port, user, password, database, tls } = parsed(address)
  return {
    host,
    database,
    ssl: tlsSettings(tls, address),
    ...(port !== undefined && { port }),
    ...(user !== undefined && { user }),
    ...(password !== undefined && { password }),
  }
}

/** The schema of the mirror at an address. */
export function schemaOf(address: string): string {
  return parsed(address).schema
}

function parsed(address: string): PostgresAddress {
  const found = parsePostgresAddress(address)
  if ('address' in found) return found.address
  throw new UsageError(`The address of the mirror ${found.problem}.`)
}

/** As libpq has it: `require` checks nothing, unless an authority is named. */
function tlsSettings({ mode, rootCertificate }: Tls, address: string): ClientConfig['ssl'] {
  if (mode === 'disable') return false
  if (mode === 'require' && rootCertificate === undefined) return { rejectUnauthorized: false }
  const authority = rootCertificate === undefined ? {} : { ca: certificatesIn(rootCertificate, address) }
  if (mode === 'verify-full') return { ...authority, rejectUnauthorized: true }
  return { ...authority, rejectUnauthorized: true, checkServerIdentity: () => undefined }
}

/** Node.js takes a file without a certificate as one that trusts no server, and says so of the server. */
function certificatesIn(file: string, address: string): string {
  const refused = (what: string) =>
    new MirrorUnusable(`${shownMirror(address)}: sslrootcert names ${file}, ${what}. Correct it in the address.`, {
      code: 'unreadable',
    })
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    const code = codeOf(error) ?? 'unknown'
    throw refused(`which cannot be read (${code})`)
  }
  if (!isCertificate(text)) throw refused('which holds no whole certificate in PEM (BEGIN CERTIFICATE)')
  return text
}

function isCertificate(text: string): boolean {
  try {
    return new X509Certificate(text).raw.length > 0
  } catch {
    return false
  }
}
