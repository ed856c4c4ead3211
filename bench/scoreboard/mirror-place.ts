import Database from 'better-sqlite3'
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'

/** Where the mirror of a contender stands, and what any reader of it sees. */
export type MirrorPlace = {
  address: string
  /** The ids of the active customers. */
  active(organization: string): Promise<Set<string>>
  remove(): Promise<void>
}

/** A new mirror in a file. */
export async function placeInSqlite(): Promise<MirrorPlace> {
  const folder = await mkdtemp(join(tmpdir(), 'customer-mirror-scoreboard-'))
  const address = join(folder, 'customers.db')
  return {
    address,
    active: async (organization) => {
      const db = new Database(address, { readonly: true })
      try {
        const query = db.prepare<[string], string>('SELECT id FROM active_customers WHERE organization = ?')
        return new Set(query.pluck().all(organization))
      } finally {
        db.close()
      }
    },
    remove: () => rm(folder, { recursive: true }),
  }
}

/** A new mirror in a schema of a database. */
export function placeInPostgres(database: string): () => Promise<MirrorPlace> {
  return async () => {
    const schema = `scoreboard_${randomUUID().replaceAll('-', '')}`
    const ask = async (sql: string, ...parameters: unknown[]) => {
      const client = new Client({ connectionString: database })
      await client.connect()
      try {
        return (await client.query<{ id: string }>(sql, parameters)).rows
      } finally {
        await client.end()
      }
    }
    return {
      address: `${database}?schema=${schema}`,
      active: async (organization) => {
        const sql = `SELECT id FROM ${schema}.active_customers WHERE organization = $1`
        return new Set((await ask(sql, organization)).map(({ id }) => id))
      },
      remove: async () => void (await ask(`DROP SCHEMA ${schema} CASCADE`)),
    }
  }
}
