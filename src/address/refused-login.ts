import { EventEmitter } from 'node:events'
import { Socket } from 'node:net'

/**
 * Has a client of PostgreSQL that cannot log in close its connection. The driver only reports the error, as where there is no password, and the
 * process would wait for the connection until the server gives up after its authentication_timeout, a minute by default.
 */
export function closeWhereRefused(client: object): void {
  const connection: unknown = 'connection' in client ? client.connection : undefined
  if (!(connection instanceof EventEmitter)) return
  connection.on('error', () => {
    // TLS puts another one in the place of the first.
    if ('stream' in connection && connection.stream instanceof Socket) connection.stream.destroy()
  })
}
