import type { Client, Connections } from '../../src/store/port/postgres-session.ts'

type Break = { at: string; when: 'before' | 'after'; times: number }

/** Connections that break at a statement, before or after the server did it. */
export function breakable(real: Connections) {
  const breaks: Break[] = []
  const connections = through(real, async (client, sql, parameters) => {
    const found = breaks.find(({ at, times }) => times > 0 && sql.startsWith(at))
    if (found === undefined) return client.query(sql, parameters)
    found.times -= 1
    if (found.when === 'after') await client.query(sql, parameters)
    throw new Error('Connection terminated unexpectedly')
  })
  return {
    connections,
    breakAt: (at: string, when: Break['when'], times = 1) => void breaks.push({ at, when, times }),
  }
}

/** Connections whose queries go through a function. */
export function through(
  connections: Connections,
  query: (client: Client, sql: string, parameters: unknown[] | undefined) => ReturnType<Client['query']>,
): Connections {
  return {
    ...connections,
    connect: async () => {
      const client = await connections.connect()
      return { ...client, query: (sql, parameters) => query(client, sql, parameters) }
    },
  }
}
