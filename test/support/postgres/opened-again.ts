import type { Connections } from '../../../src/store/port/postgres-session.ts'
import { through } from '../breaking-connections.ts'

/** Connections to a server that gives another answer to what a statement asks. */
export function answering(connections: Connections, asked: string, answer: string): Connections {
  return through(connections, (client, sql, parameters) => client.query(sql.replace(asked, answer), parameters))
}
