import type { Mirror } from '../../src/store.ts'
import { QueueUnavailable, reportedError } from '../../src/errors/errors.ts'
import { sleep } from '../../src/machine/sleep.ts'
import type { Outcome } from '../../src/mirror-organization.ts'
import type { Report } from '../../src/report.ts'
import { failedWith } from './failed-with.ts'

export type Watching = {
  /** Whether the queue still has a job for an organization. */
  hasJob: (organization: string) => Promise<boolean>
  mirror: Pick<Mirror, 'listRuns'>
  /** Whether this process is running that job: then it reports the end itself, even if the queue lost the job. */
  isActiveHere: (organization: string) => boolean
  /** Unix milliseconds. */
  now: () => number
  lookMs?: number
}

/**
 * `lastRunBefore` is the number of the organization's latest run when its job was put into the queue, 0 for none. Times are not
 * used, because the clock may be set between the request and its run.
 */
type Asked = { organization: string; lastRunBefore: number }

const LOOK_MS = 500

/** The job was for a full run; quick runs may have followed it. */
const LATEST_RUNS = 5

/** Waits until another worker of the same queue has ended the job, and returns the run from the mirror. */
export async function endElsewhere(
  { hasJob, mirror, isActiveHere, now, lookMs = LOOK_MS }: Watching,
  { organization, lastRunBefore }: Asked,
  signal: AbortSignal,
): Promise<Outcome> {
  for (;;) {
    await sleep(lookMs, signal)
    if (isActiveHere(organization) || (await hasJob(organization))) continue
    const latest = await mirror.listRuns({ organization, limit: LATEST_RUNS })
    const report = latest.find(({ trustedPages }) => trustedPages === undefined)
    // This process took the job during the two look-ups.
    if (isActiveHere(organization)) continue
    const hasEnded = report?.status === 'complete' || report?.status === 'failed'
    if (hasEnded && (report.runId ?? 0) > lastRunBefore) return { report, error: errorOf(report) }
    return failedWith(
      organization,
      new QueueUnavailable(
        `${organization}: its job is no longer in the queue, and no run since then has ended. Request it again.`,
      ),
      now(),
    )
  }
}

/** The error of a run by another worker: the command ends as if it had made the run itself. */
function errorOf({ status, error }: Report): Error | undefined {
  if (error !== undefined) return reportedError(error)
  return status === 'complete' ? undefined : new Error('The run failed without an error.')
}
