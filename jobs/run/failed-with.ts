import { describeError } from '../../src/errors/errors.ts'
import type { Outcome } from '../../src/mirror-organization.ts'
import { emptyReport, type Trigger } from '../../src/report.ts'

/** The outcome of a run that never started, with its error. */
export function failedWith(organization: string, error: unknown, nowMs: number, trigger: Trigger = 'sync'): Outcome {
  const report = emptyReport({ organization, trigger, startedAtMs: nowMs })
  return { report: { ...report, error: describeError(error) }, error }
}
