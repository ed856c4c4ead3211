import { readFileSync } from 'node:fs'
import type { ClientConfig } from 'pg'
import { UsageError } from '../../errors.ts'
import { parsePostgresAddress, type PostgresAddress, type Tls } from '../../postgres-address.ts'

/**
 * How the driver reaches the server of an address: not by the address itself, in which the driver would read TLS modes in its own way.
 * Without a user or a password it takes those of PGUSER, PGPASSWORD or a password file. Throws what reading a certificate throws.
 */
export function connectionSettings(address: string): ClientConfig {
  const { host, port, user, password, database, tls } = parsed(address)
  return {
    host,
    database,
    ssl: tlsSettings(tls),
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
function tlsSettings({ mode, rootCertificate }: Tls): ClientConfig['ssl'] {
  if (mode === 'disable') return false
  if (mode === 'require' && rootCertificate === undefined) return { rejectUnauthorized: false }
  const authority = rootCertificate === undefined ? {} : { ca: readFileSync(rootCertificate, 'utf8') }
  if (mode === 'verify-full') return { ...authority, rejectUnauthorized: true }
  return { ...authority, rejectUnauthorized: true, checkServerIdentity: () => undefined }
}
