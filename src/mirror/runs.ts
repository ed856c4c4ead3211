import type { Warnings } from '../customer.ts'
import { AccountingBroken } from '../errors.ts'
import {
  addsUp,
  emptyReport,
  noRecords,
  type Proof,
  type RecordCounts,
  type Report,
  type RunStatus,
  type SourceCounts,
  type Trigger,
} from '../report.ts'
import type { Connection } from './database.ts'
import { releaseLease, renewLease, takeLease } from './lease.ts'
import { resolveRejects } from './rejects.ts'
import { RowSet } from './row-set.ts'
import { fromSqlTime, sqlTime } from './sql-time.ts'
import { statement } from './statement.ts'

/** A run that is being made: who it is for, and what it has seen and counted so far. */
export type Run = {
  readonly id: number
  readonly organization: string
  readonly trigger: Trigger
  readonly startedAtMs: number
  /** Whether this organization was never read to its end before: then additions are no changes. */
  readonly isBaseline: boolean
  /** Rows of `customers` this run has received. */
  readonly seen: RowSet
  /** Ids this run received in a record that had to be rejected. */
  readonly rejectedIds: Set<string>
  readonly records: RecordCounts
  readonly warnings: Warnings
  pages: number
}

export type Start = { organization: string; trigger: Trigger; nowMs: number }

/** How a run ended. */
export type Ending = {
  status: Exclude<RunStatus, 'running'>
  proof: Proof
  reasons: readonly string[]
  source: SourceCounts
  /** Whether the list was read from its first position to its end, so that what was not received is no longer listed. */
  readToEnd: boolean
  error?: { code: string; message: string } | undefined
}

/** Starts a run, after marking as interrupted any that was left running. The caller holds the transaction. */
export function startRun(db: Connection, { organization, trigger, nowMs }: Start, holder: string): Run {
  const isBaseline = !hasBaseline(db, organization)
  const { lastInsertRowid } = statement(
    db,
    `INSERT INTO runs (organization, "trigger", started_at, data_as_of, status) VALUES (?, ?, ?, ?, 'running')`,
  ).run(organization, trigger, sqlTime(nowMs), sqlTime(nowMs))
  const id = Number(lastInsertRowid)
  takeLease(db, organization, id, holder, nowMs)
  statement(
    db,
    `UPDATE runs SET status = 'interrupted', finished_at = ?, reasons = '["interrupted"]', error_code = 'interrupted',
       error = 'The process ended before the run did. What it had saved is kept.'
     WHERE organization = ? AND status = 'running' AND id <> ?`,
  ).run(sqlTime(nowMs), organization, id)
  return {
    id,
    organization,
    trigger,
    startedAtMs: nowMs,
    isBaseline,
    seen: new RowSet(),
    rejectedIds: new Set(),
    records: noRecords(),
    warnings: {},
    pages: 0,
  }
}

/**
 * Ends a run and gives its organization back. The caller holds the transaction. A run cannot be complete when it lost its
 * organization to another one (throws OrganizationHeld), or when its stored numbers do not add up (throws
 * AccountingBroken); one that failed after it lost its organization changes nothing any more.
 */
export function finishRun(db: Connection, run: Run, ending: Ending, nowMs: number): Report {
  const report = reportOf(run, ending, nowMs)
  if (ending.status === 'complete') {
    renewLease(db, run, nowMs)
    requireSum(db, run)
    if (ending.readToEnd) resolveRejects(db, run, nowMs)
  }
  if (!releaseLease(db, run)) return report
  statement(
    db,
    `UPDATE runs SET finished_at = @finishedAt, status = @status, proof = @proof, reasons = @reasons,
       requests = @requests, throttled = @throttled, waited_ms = @waitedMs, warnings = @warnings,
       error_code = @errorCode, error = @errorMessage
     WHERE id = @id`,
  ).run({
    ...ending.source,
    id: run.id,
    finishedAt: sqlTime(nowMs),
    status: ending.status,
    proof: ending.proof,
    reasons: JSON.stringify(ending.reasons),
    warnings: JSON.stringify(run.warnings),
    errorCode: ending.error?.code ?? null,
    errorMessage: ending.error?.message ?? null,
  })
  return report
}

/** The latest runs, newest first. */
export function listRuns(
  db: Connection,
  { organization, limit }: { organization?: string | undefined; limit: number },
): Report[] {
  return statement<[Record<string, unknown>], RunColumns>(
    db,
    `SELECT * FROM runs WHERE organization = coalesce(@organization, organization) ORDER BY id DESC LIMIT @limit`,
  )
    .all({ organization: organization ?? null, limit })
    .map(fromColumns)
}

function requireSum(db: Connection, run: Run): void {
  const stored = statement<[number], RecordCounts>(db, 'SELECT * FROM runs WHERE id = ?').get(run.id)
  if (stored !== undefined && addsUp(stored) && addsUp(run.records)) return
  throw new AccountingBroken(
    `${run.organization}: the numbers of run ${run.id} do not add up. What it saved is kept, but it does not count as ` +
      'complete. This is a defect of Customer Mirror; please report it.',
  )
}

function hasBaseline(db: Connection, organization: string): boolean {
  return (
    statement(
      db,
      `SELECT 1 FROM runs WHERE organization = ? AND status = 'complete' AND reasons NOT LIKE '%"page-limit"%' LIMIT 1`,
    ).get(organization) !== undefined
  )
}

function reportOf(run: Run, ending: Ending, nowMs: number): Report {
  const { organization, trigger, startedAtMs } = run
  return {
    ...emptyReport({ organization, trigger, startedAtMs }),
    ...run.records,
    ...ending.source,
    runId: run.id,
    status: ending.status,
    proof: ending.proof,
    reasons: [...ending.reasons],
    pages: run.pages,
    warnings: run.warnings,
    durationMs: nowMs - startedAtMs,
    dataAsOfMs: startedAtMs,
    error: ending.error,
  }
}

type RunColumns = RecordCounts & {
  id: number
  organization: string
  trigger: Trigger
  started_at: string
  finished_at: string | null
  status: RunStatus
  proof: Proof
  reasons: string
  requests: number
  pages: number
  missing: number
  removed: number
  held: number
  throttled: number
  waited_ms: number
  warnings: string
  data_as_of: string
  error_code: string | null
  error: string | null
}

function fromColumns(row: RunColumns): Report {
  const { id, started_at, finished_at, waited_ms, data_as_of, error_code, error, ...same } = row
  const startedAtMs = fromSqlTime(started_at)
  return {
    ...same,
    runId: id,
    reasons: JSON.parse(row.reasons),
    warnings: JSON.parse(row.warnings),
    waitedMs: waited_ms,
    startedAtMs,
    durationMs: finished_at === null ? 0 : fromSqlTime(finished_at) - startedAtMs,
    dataAsOfMs: fromSqlTime(data_as_of),
    error: error_code === null ? undefined : { code: error_code, message: error ?? '' },
  }
}
