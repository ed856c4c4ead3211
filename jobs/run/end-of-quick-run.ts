import type { Outcome } from '../../src/mirror-organization.ts'
import { hasChangedCustomers } from '../../src/report.ts'
import type { WhyNone } from './why-no-quick-run.ts'

/** The end of a quick job. `stopped`: it gave way to a full run, or to the stop of its worker, or a person cancelled it. */
export type EndOfQuickRun = { organization: string } & (
  | { end: 'skipped'; why: WhyNone }
  | { end: 'partial' | 'stopped' | 'failed'; outcome: Outcome }
)

/** The ends of quick jobs. */
export const QUICK_ENDS = ['partial', 'skipped', 'stopped', 'failed'] as const satisfies EndOfQuickRun['end'][]

/** Whether the quick run saved something that a copy for readers should have. */
export function isWorthACopy(quickRun: EndOfQuickRun): boolean {
  return quickRun.end !== 'skipped' && hasChangedCustomers(quickRun.outcome.report)
}
