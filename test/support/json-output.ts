import { z } from 'zod'

/** One entry of `sync --json`, exactly as the contract has it. */
const syncRun = z.strictObject({
  organization: z.string(),
  status: z.enum(['complete', 'failed', 'interrupted', 'partial']),
  proof: z.enum(['proven', 'settled', 'unproven']),
  reasons: z.array(z.string()),
  requests: z.int(),
  pages: z.int(),
  received: z.int(),
  inserted: z.int(),
  updated: z.int(),
  unchanged: z.int(),
  duplicates: z.int(),
  rejected: z.int(),
  missing: z.int(),
  removed: z.int(),
  returned: z.int(),
  held: z.int(),
  throttled: z.int(),
  waitedMs: z.number(),
  durationMs: z.number(),
  readAsOf: z.iso.datetime().nullable(),
  error: z.strictObject({ code: z.string(), message: z.string() }).nullable(),
  runId: z.int().nullable(),
  startedAt: z.iso.datetime(),
  finishedAt: z.iso.datetime().nullable(),
  resumedFrom: z.int().nullable(),
  readBefore: z.int(),
  suppressed: z.int(),
  searchesRefused: z.int(),
  trustedPages: z.int().nullable(),
})

/** The keys of an entry, in the order in which they are printed. */
export const SYNC_RUN_KEYS = Object.keys(syncRun.shape)

const syncDocument = z.strictObject({ schemaVersion: z.literal(1), runs: z.array(syncRun) })

export type SyncRun = z.output<typeof syncRun>

/** The runs in what `sync --json` printed, which must be one document and nothing else. */
export function syncRuns(stdout: string): SyncRun[] {
  return syncDocument.parse(JSON.parse(stdout)).runs
}

/** The only run in what `sync --json` printed. */
export function onlyRun(stdout: string): SyncRun {
  const [run, ...others] = syncRuns(stdout)
  if (run === undefined || others.length > 0) throw new Error(`expected one run, got ${others.length}`)
  return run
}
