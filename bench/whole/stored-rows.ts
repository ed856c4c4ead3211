import Database from 'better-sqlite3'
import { createHash } from 'node:crypto'
import * as z from 'zod'
import { TEXT_FIELDS } from '../../src/model/customer.ts'
import { baseUrlOf, type Measurement } from '../messages.ts'
import type { CommandName } from './run-command.ts'

/** What a whole command left in its file; `digest` is the same for the same customers with the same fields. */
export type Stored = Required<Pick<Measurement, 'customers' | 'counts'>> & { digest: string }

const FIELDS = ['id', ...TEXT_FIELDS] as const

/** Reads a file that a command has closed. Only `sync` counts what became of the customers, in its last run. */
export function storedRows(file: string, command: CommandName): Stored {
  const db = new Database(file, { readonly: true })
  try {
    const table = command === 'sync' ? 'active_customers' : 'customers'
    const rows = z.array(row).parse(
      db
        .prepare(`SELECT ${FIELDS.join(', ')} FROM ${table} ORDER BY id`)
        .raw()
        .all(),
    )
    return { customers: rows.length, digest: digestOf(rows), counts: command === 'sync' ? lastRun(db) : {} }
  } finally {
    db.close()
  }
}

/** The digest of what the service lists now for one organization. */
export async function listedDigest(origin: string, organization: string, atMost: number): Promise<string> {
  const address = `${baseUrlOf(origin, organization)}/customers?page=1&per_page=${atMost}`
  const { data } = envelope.parse(await (await fetch(address)).json())
  const rows = data.map((record) => FIELDS.map((field) => record[field] ?? null))
  // As SQLite compares text, by its bytes: ids are hexadecimal.
  return digestOf(rows.toSorted(([a], [b]) => (String(a) < String(b) ? -1 : 1)))
}

function lastRun(db: Database.Database): Record<string, number> {
  const columns = 'inserted, updated, unchanged, missing, proof'
  const { proof, ...counts } = run.parse(db.prepare(`SELECT ${columns} FROM runs ORDER BY id DESC LIMIT 1`).get())
  return { ...counts, proven: proof === 'proven' ? 1 : 0 }
}

function digestOf(rows: readonly (readonly unknown[])[]): string {
  const hash = createHash('sha256')
  for (const fields of rows) hash.update(`${JSON.stringify(fields)}\n`)
  return hash.digest('hex')
}

const row = z.array(z.string().nullable())
const envelope = z.object({ data: z.array(z.record(z.string(), z.string().nullable())) })
const run = z.object({
  ...{ inserted: z.number(), updated: z.number(), unchanged: z.number(), missing: z.number() },
  proof: z.string().nullable(),
})
