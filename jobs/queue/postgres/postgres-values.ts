import { DEFAULT_SCHEMA } from 'bullmq'
import { z } from 'zod'
import type { SharedValues } from '../shared-values.ts'

/** What both PostgreSQL and the one in this process answer. */
export type Queryable = {
  query(text: string, parameters: unknown[]): Promise<{ rows: unknown[]; rowCount: number | null }>
}

/** Shared values as rows of ours in the queue's table of settings. */
export function postgresValues(pool: Queryable, prefix: string): SharedValues {
  const queue = sharedRows(prefix)
  const select = async (condition: string, name: string) =>
    rows.parse((await pool.query(`${SELECT} ${condition}`, [queue, name])).rows)
  return {
    read: async (name) => (await select('AND field = $2', name))[0]?.value,
    list: async (beginning) =>
      new Map((await select('AND starts_with(field, $2)', beginning)).map(({ field, value }) => [field, value])),
    write: async (name, value) => {
      await pool.query(`${INSERT} DO UPDATE SET value = EXCLUDED.value`, [queue, name, value])
    },
    delete: async (name) => {
      await pool.query(`DELETE FROM ${TABLE} WHERE queue = $1 AND field = $2`, [queue, name])
    },
    replace: async (name, before, value) => {
      const { rows: written } = await (before === undefined
        ? pool.query(`${INSERT} DO NOTHING RETURNING field`, [queue, name, value])
        : pool.query(UPDATE, [queue, name, value, before]))
      return written.length > 0
    },
  }
}

/** The name under which our rows stand in that table. */
export function sharedRows(prefix: string): string {
  return `${prefix}-shared`
}

export const TABLE = `${DEFAULT_SCHEMA}.meta`
const SELECT = `SELECT field, value FROM ${TABLE} WHERE queue = $1`
const INSERT = `INSERT INTO ${TABLE} (queue, field, value) VALUES ($1, $2, $3) ON CONFLICT (queue, field)`
const UPDATE = `UPDATE ${TABLE} SET value = $3 WHERE queue = $1 AND field = $2 AND value = $4 RETURNING field`

const rows = z.array(z.object({ field: z.string(), value: z.string() }))
