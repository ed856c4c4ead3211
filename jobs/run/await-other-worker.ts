import type { Mirror } from '../../src/store.ts'
import { setTimeout as sleep } from 'node:timers/promises'
import { describeError, QueueUnavailable, reportedError } from '../../src/errors.ts'
import type { Outcome } from '../../src/mirror-organization.ts'
import { emptyReport, type Report } from '../../src/report.ts'

export type Watching = {
  /** Whether the queue still has a job for an organization. */
  hasJob: (organization: string) => Promise<boolean>
  mirror: Pick<Mirror, 'listRuns'>
  /** Whether this very process is running that job: then it reports the end itself, whatever the queue has forgotten. */
  isActiveHere: (organization: string) => boolean
  /** Unix milliseconds. */
  now: () => number
  lookMs?: number
}

/**
 * `lastRunBefore` is the number of the organization's latest run when its job was put into the queue, 0 for none. Times would
 * not do: the clock may be set between a wish and its run.
 */
type Asked = { organization: string; lastRunBefore: number }

const LOOK_MS = 500

/** Comes back when the job was ended by another worker of the same queue, with the run that the mirror then has. */
export async function endElsewhere(
  { hasJob, mirror, isActiveHere, now, lookMs = LOOK_MS }: Watching,
  { organization, lastRunBefore }: Asked,
  signal: AbortSignal,
): Promise<Outcome> {
  for (;;) {
    await sleep(lookMs, undefined, { signal })
    if (isActiveHere(organization) || (await hasJob(organization))) continue
    const [report] = await mirror.listRuns({ organization, limit: 1 })
    // Taken by this process while the other two were asked.
    if (isActiveHere(organization)) continue
    const hasEnded = report?.status === 'complete' || report?.status === 'failed'
    if (hasEnded && (report.runId ?? 0) > lastRunBefore) return { report, error: errorOf(report) }
    return failedWith(
      organization,
      new QueueUnavailable(
        `${organization}: its job is no longer in the queue, and no run that began since has ended. Ask for it again.`,
      ),
      now(),
    )
  }
}

/** A run that was never made, for this reason. */
export function failedWith(organization: string, error: unknown, nowMs: number): Outcome {
  const report = emptyReport({ organization, trigger: 'sync', startedAtMs: nowMs })
  return { report: { ...report, error: describeError(error) }, error }
}

/** The error of a run made elsewhere: the command ends as it would have ended itself. */
function errorOf({ status, error }: Report): Error | undefined {
  if (error !== undefined) return reportedError(error)
  return status === 'complete' ? undefined : new Error('The run failed, and did not say why.')
}
