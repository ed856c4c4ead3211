import type { Ending, Run } from '../run.ts'
import { emptyReport, type Report } from '../report.ts'
import type { Absences } from './rules/absences-found.ts'

/** The report of a run that ends, before absent customers are looked for. `reportWith` adds what was found of them. */
export function reportOf(run: Run, ending: Ending, nowMs: number): Report {
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
    resumedFrom: run.resumedFrom,
    readBefore: run.readBefore,
    // The wall clock may have been set back since.
    finishedAtMs: Math.max(nowMs, startedAtMs),
    durationMs: run.tookMs(nowMs),
    readAsOfMs: run.readAsOfMs,
    trustedPages: run.isQuick ? (ending.trustedPages ?? 0) : undefined,
    error: ending.error,
  }
}

/** The same with what was found of absent customers, and what that leaves of the proof. */
export function reportWith(
  counted: Report,
  { proof, reasons }: Pick<Ending, 'proof' | 'reasons'>,
  { missing, removed, held }: Absences,
): Report {
  return { ...counted, missing, removed, held, proof, reasons: [...reasons] }
}
