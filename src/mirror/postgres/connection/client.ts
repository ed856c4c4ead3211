import { Client, type ClientConfig } from 'pg'
import { usePasswordFile } from '../../../address/password-file.ts'
import { closeWhereRefused } from '../../../address/refused-login.ts'

/** A connection to the server of a mirror. */
export class MirrorClient extends Client {
  constructor(config?: ClientConfig) {
    super(config)
    usePasswordFile(this)
    closeWhereRefused(this)
  }
}

/** The number of the server's process, as the driver was told when it connected. */
export function processOf(client: object): number | undefined {
  return 'processID' in client && typeof client.processID === 'number' ? client.processID : undefined
}
