import type { Organization } from '../../src/config/organization.ts'
import type { Outcome } from '../../src/mirror-organization.ts'
import { runOrganization, type RunSettings } from '../../src/run-organization.ts'
import type { Processing, SyncJob } from './sync-job.ts'

type Own = Pick<RunSettings, 'quick' | 'comesBack'>

/** Makes the run of a job, with what the runs of a worker have in common and the `own` settings of this one. */
export function runForJob(
  organization: Organization,
  { name }: SyncJob,
  signal: AbortSignal,
  processing: Omit<Processing, 'isAsked'>,
  own: Own,
): Promise<Outcome> {
  const { mirror, rateLimits, sharedTurns, agents, listener, timings, now, monotonicMs, random } = processing
  return runOrganization(organization, {
    ...{ mirror, rateLimits, sharedTurns, agents, now, monotonicMs, random },
    trigger: name,
    longestWaitMs: timings.longestWaitMs,
    signal,
    onEvent: (event) => listener.onEvent?.(organization.id, event),
    onAnswer: (answer) => listener.onAnswer?.(organization.id, answer),
    ...own,
  })
}
