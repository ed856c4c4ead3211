import type { Warnings } from './customer.ts'
import { isoTime } from '../time/moments.ts'

/** How a run ended. `waiting`: another one continues after the wait that the service asked for. `partial`: it reads only a part of the list. */
export type RunStatus = 'running' | 'complete' | 'failed' | 'interrupted' | 'waiting' | 'partial'

/** What a scan proves: whether it read every customer. `settled`: it read every customer who kept their place among the others. */
export type Proof = 'proven' | 'settled' | 'unproven'

/** Grades of a scan after which customers are marked missing and removed. `whole`: unproven, but read to its end with hardly a row lacking. */
export type RemovingProof = Exclude<Proof, 'unproven'> | 'whole'

/** The grade of a scan by which its absences count; undefined where they say nothing. */
export function removingProof(of: { proof: Proof; isWhole?: boolean | undefined }): RemovingProof | undefined {
  if (of.proof !== 'unproven') return of.proof
  return of.isWhole === true ? 'whole' : undefined
}

export type Trigger = 'sync' | 'schedule' | 'manual' | 'catch-up'

/**
 * The results of the received records: each is counted in `received` and in exactly one other count. `duplicates`: the run had received the customer
 * already. `suppressed`: of forgotten customers. `returned`: removed customers that are listed again, counted as updated or as rejected too.
 */
export type RecordCounts = Record<(typeof COUNTED)[number], number>

export const COUNTED = [
  ...(['received', 'inserted', 'updated', 'unchanged'] as const),
  ...(['duplicates', 'rejected', 'suppressed', 'returned'] as const),
] as const

/** `throttled`: answers that asked to slow down. */
export type SourceCounts = Record<'requests' | 'throttled' | 'waitedMs', number>

/** What is kept no longer than the configuration says. */
export type Prunable = 'changes' | 'resolvedRejects' | 'runs' | 'removedCustomers'

export type Pruned = Record<Prunable, number> & {
  /** Whether more is old enough, or old values are still in the WAL because a program reads the mirror: the next run continues. */
  isUnfinished: boolean
  /** What kept retention from its work; the run itself is as it was. */
  error: { code: string; message: string } | undefined
}

/** The result of one run, in numbers that must add up. */
export type Report = RecordCounts &
  SourceCounts & {
    organization: string
    /** The run's number in the mirror; undefined when no run was started because another one held the organization. */
    runId: number | undefined
    trigger: Trigger
    status: RunStatus
    proof: Proof
    /** The names of the reasons why the scan is not proven. */
    reasons: string[]
    pages: number
    missing: number
    removed: number
    /** Removals held back by a guard. */
    held: number
    /** Searches for absent customers that the service refused, or left without an answer although it answered others. */
    searchesRefused: number
    warnings: Warnings
    /** The interrupted run that it continued, and the number of customers read by that run and its predecessors. */
    resumedFrom: number | undefined
    readBefore: number
    /** Unix milliseconds; undefined while the run is running. */
    startedAtMs: number
    finishedAtMs: number | undefined
    durationMs: number
    /** Unix milliseconds of the scan's start: the mirror shows every customer as of then or later. */
    readAsOfMs: number | undefined
    /** Pages that a partial run trusted without reading them; undefined for other runs. */
    trustedPages: number | undefined
    error: { code: string; message: string } | undefined
    /** What retention deleted afterwards; absent where that was nothing. */
    pruned?: Pruned | undefined
  }

/** What a drawing of many runs shows of one. */
export type LatestRun = Pick<Report, 'organization' | 'startedAtMs' | 'durationMs' | 'status' | 'proof'> & {
  runId: number
  errorCode: string | undefined
}

/** A run under way, and how far it is. */
export type LeasedRun = Pick<Report, 'organization' | 'startedAtMs' | 'readBefore'> & {
  runId: number
  isPartial: boolean
  /** Customers read since those of `readBefore`. */
  read: number
  /** How many customers the service says there are; undefined until it has. */
  total: number | undefined
  /** The process that makes it, as `process-name.ts` names processes. */
  holder: string
}

/** Whether a run came to the end of what it was to read: the list, or a part of it. */
export function endedWell({ status }: { status: RunStatus }): boolean {
  return status === 'complete' || status === 'partial'
}

/** A failed run that did nothing. */
export function emptyReport(start: Pick<Report, 'organization' | 'trigger' | 'startedAtMs'>): Report {
  return {
    ...start,
    ...noRecords(),
    runId: undefined,
    status: 'failed',
    proof: 'unproven',
    reasons: [],
    requests: 0,
    throttled: 0,
    waitedMs: 0,
    pages: 0,
    missing: 0,
    removed: 0,
    held: 0,
    searchesRefused: 0,
    warnings: {},
    resumedFrom: undefined,
    readBefore: 0,
    finishedAtMs: start.startedAtMs,
    durationMs: 0,
    readAsOfMs: undefined,
    trustedPages: undefined,
    error: undefined,
  }
}

export function nothingPruned(): Pruned {
  return { changes: 0, resolvedRejects: 0, runs: 0, removedCustomers: 0, isUnfinished: false, error: undefined }
}

export function noRecords(): RecordCounts {
  return { received: 0, inserted: 0, updated: 0, unchanged: 0, duplicates: 0, rejected: 0, suppressed: 0, returned: 0 }
}

export function addRecords(into: RecordCounts, from: RecordCounts): void {
  for (const name of COUNTED) into[name] += from[name]
}

/** The accounting identity: whether every record received is accounted for exactly once. */
export function addsUp(counts: RecordCounts): boolean {
  const { received, inserted, updated, unchanged, duplicates, rejected, suppressed, returned } = counts
  const accounted = inserted + updated + unchanged + duplicates + rejected + suppressed
  return received === accounted && returned <= updated + rejected
}

export function hasChangedCustomers({ inserted, updated, missing, returned }: Report): boolean {
  return inserted + updated + missing + returned > 0
}

/** The run as it stands: one of the `killed`, though recorded as running, was interrupted. */
export function asItStands<Stored extends Report>(run: Stored, killed: readonly number[]): Stored {
  return killed.includes(run.runId ?? 0) ? { ...run, status: 'interrupted', reasons: ['interrupted'] } : run
}

/** The report as `sync --json` prints it: the keys are a contract, times are ISO 8601 in UTC. */
export function toJson(report: Report) {
  const { trigger: _trigger, warnings: _warnings, organization, status, proof, reasons, ...others } = report
  const { readAsOfMs, startedAtMs, finishedAtMs, error, runId, resumedFrom, trustedPages, pruned, ...counts } = others
  return {
    ...{ organization, status, proof, reasons, ...counts },
    readAsOf: isoTime(readAsOfMs),
    error: error ?? null,
    runId: runId ?? null,
    startedAt: isoTime(startedAtMs),
    finishedAt: isoTime(finishedAtMs),
    resumedFrom: resumedFrom ?? null,
    trustedPages: trustedPages ?? null,
    ...(pruned !== undefined && { pruned: { ...pruned, error: pruned.error ?? null } }),
  }
}
