import { MirrorUnusable, UsageError } from '../../../errors/errors.ts'
import { shownMirror } from '../../../address/mirror-address.ts'
import { parsePostgresAddress, type PostgresAddress } from '../../../address/postgres-address.ts'
import { postgresSettings, type PostgresSettings } from '../../../address/postgres-settings.ts'

/** How the driver reaches the mirror at an address. Throws MirrorUnusable where it names no certificate. */
export function connectionSettings(address: string): PostgresSettings {
  return postgresSettings(
    parsed(address),
    (what) => new MirrorUnusable(`${shownMirror(address)}: ${what}`, { code: 'denied' }),
  )
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
