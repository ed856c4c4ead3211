import { Client, type ClientConfig } from 'pg'
import { usePasswordFile } from '../../../src/address/password-file.ts'
import { parsePostgresAddress, QUEUE_PARAMETERS } from '../../../src/address/postgres-address.ts'
import { postgresSettings, type PostgresSettings } from '../../../src/address/postgres-settings.ts'
import { closeWhereRefused } from '../../../src/address/refused-login.ts'
import { QueueUnavailable } from '../../../src/errors/errors.ts'

/** How a queue in PostgreSQL is reached, read as the address of a mirror: with TLS, but for a server on this machine, unless it says otherwise. */
export function queueSettings(address: string): PostgresSettings {
  const found = parsePostgresAddress(address, QUEUE_PARAMETERS)
  if ('problem' in found) throw new QueueUnavailable(`The address of the queue ${found.problem}.`)
  return postgresSettings(found.address, (what) => new QueueUnavailable(`The queue cannot be used: ${what}`))
}

/** A connection to the server of a queue. */
export class QueueClient extends Client {
  constructor(config?: ClientConfig) {
    super(config)
    usePasswordFile(this)
    closeWhereRefused(this)
    // A statement under way reports that its connection has ended. BullMQ does not listen for the event, which would end the process.
    this.on('error', () => {})
  }
}
