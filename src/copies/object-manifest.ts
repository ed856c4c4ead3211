import { createHash } from 'node:crypto'
import { z } from 'zod'
import type { Connection } from '../store/sqlite/connect.ts'
import { isoOf } from '../time/moments.ts'
import { type ReadOrganization, readOrganizations, recordedRunsIn } from './organizations.ts'

/*
 * The manifest of customers that are written as a file for each organization: `_manifest.json` in a folder, and `manifest.json` in a bucket. It is
 * one document. Times in it are ISO 8601 in UTC.
 */

const VERSION = 1

/** A file or an object, as it was written. */
export const writtenFile = z.looseObject({
  organization: z.string(),
  /** Its path within the folder, or its key below the prefix. */
  object: z.string(),
  rows: z.number(),
  bytes: z.number(),
  sha256: z.string(),
})

/** What a published one holds of its organization. */
export const publishedFile = writtenFile.extend({
  active: z.number(),
  /** The run that read the list to its end last, what it proved, and when it began. */
  run: z.number(),
  proof: z.string(),
  read_as_of: z.string(),
  proven_as_of: z.string().nullable(),
  /** The latest run that changed anything. */
  last_run: z.number(),
  last_status: z.string(),
  /** The number of the customer who was forgotten last, 0 while there is none. */
  forgotten: z.number(),
  /** Equal as long as the mirror holds the same rows in the same columns. */
  state: z.string(),
})
export type PublishedFile = z.output<typeof publishedFile>

/** A manifest of such files; `replaced` are those of earlier ones that are there still. */
export function manifestOf<File extends z.ZodType, Replaced extends z.ZodType>(file: File, replaced: Replaced) {
  return z.looseObject({
    program: z.literal('customer-mirror'),
    version: z.literal(VERSION),
    organizations: z.array(file),
    replaced: z.array(replaced),
  })
}

/** A manifest as it is stored. */
export function manifestText(content: Readonly<Record<string, unknown>>): string {
  return `${JSON.stringify({ program: 'customer-mirror', version: VERSION, ...content }, null, 2)}\n`
}

/** An organization with its latest run that changed anything, `running` while it is under way, and the customer who was forgotten last. */
export type ToPublish = ReadOrganization & { lastRun: number; lastStatus: string; forgotten: number }

/** The organizations of a mirror whose list was read to its end at least once, retired ones included. */
export function organizationsToPublish(db: Connection): ToPublish[] {
  const lastRuns = new Map(recordedRunsIn(db).map((last) => [last.organization, last]))
  return readOrganizations(db).map((one) => {
    const { runId = one.run, status = 'complete', forgotten = 0 } = lastRuns.get(one.organization) ?? {}
    return { ...one, lastRun: runId, lastStatus: status, forgotten }
  })
}

/** What a manifest says of the runs of an organization. */
export function runFactsOf({ run, proof, readAsOf, provenAsOf, lastRun, lastStatus, forgotten }: ToPublish) {
  return {
    ...{ run, proof, read_as_of: isoOf(readAsOf), proven_as_of: provenAsOf === null ? null : isoOf(provenAsOf) },
    ...{ last_run: lastRun, last_status: lastStatus, forgotten },
  }
}

/** What the rows of an organization are, by counting them: `updated_at` moves with every change of a row, and one that is deleted is missing in the count. */
export function rowFactsOf(db: Connection, organization: string): Pick<PublishedFile, 'rows' | 'active' | 'state'> {
  const sql = `SELECT COUNT(*) AS rows, COUNT(*) FILTER (WHERE removed_at IS NULL) AS active, MAX(updated_at) AS updatedAt
    FROM customers WHERE organization = ?`
  type Counted = { rows: number; active: number; updatedAt: string | null }
  const found = db.prepare<[string], Counted>(sql).safeIntegers(false).get(organization)
  const { rows = 0, active = 0, updatedAt = null } = found ?? {}
  const state = createHash('sha256').update(JSON.stringify([organization, rows, active, updatedAt]))
  return { rows, active, state: state.digest('hex').slice(0, 32) }
}
