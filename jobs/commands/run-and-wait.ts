import type { Report } from '../../src/report.ts'
import { requireMirrorOfQueue } from '../queue/mirror-of-queue.ts'
import { answerOf, withQueues, type OpenedQueue, type QueueConfig } from '../queue/with-queues.ts'
import { listCancellations } from '../run/cancellations.ts'
import { failedWith } from '../run/run-for-job.ts'
import { NO_SHARED_QUEUE, requestAll, type RequestedRun, type RequestOptions } from './run-now.ts'
import { waitedOutcome, type WaitedOutcome } from './waited-outcome.ts'
import { endOfJob, type WaitingForJob, type WaitNews } from './wait-for-job.ts'
import { OrganizationPaused } from '../../src/errors/errors.ts'
import { moment } from '../../src/wording.ts'

export type WaitingForRuns = Omit<WaitingForJob, 'onNews'> & {
  /** Unix milliseconds. */
  now: () => number
  /** The latest runs of an organization in the mirror of this machine, newest first; none where there is no mirror. */
  listRuns: (organization: string) => Promise<readonly Report[]>
  onRequested: (requested: readonly RequestedRun[]) => void
  onNews: (organization: string, news: WaitNews) => void
}

/** The outcome of one organization; undefined if the wait was ended before its job. */
export type Waited = { organization: string; waited: WaitedOutcome | undefined }

/** Requests runs, and waits until each organization's job has ended, whether the job is new or was there before. */
export async function runAndWait(
  config: QueueConfig,
  organizations: readonly string[],
  options: RequestOptions,
  waiting: WaitingForRuns,
): Promise<Waited[]> {
  const before = new Map<string, number>()
  for (const organization of organizations) {
    const ended = (await waiting.listRuns(organization)).filter(hasEnded)
    before.set(organization, Math.max(0, ...ended.map(({ runId = 0 }) => runId)))
  }
  return withQueues(config, NO_SHARED_QUEUE, async (opened) => {
    await requireMirrorOfQueue(opened.backend.values, config.mirror)
    const requested = await requestAll(opened, organizations, options)
    waiting.onRequested(requested)
    return Promise.all(
      requested.map(async (run) => ({
        organization: run.organization,
        waited: await endOf(opened, run, { ...waiting, lastRunBefore: before.get(run.organization) ?? 0 }),
      })),
    )
  })
}

async function endOf(
  opened: OpenedQueue,
  { organization, job, state, untilMs }: RequestedRun,
  waiting: WaitingForRuns & { lastRunBefore: number },
): Promise<WaitedOutcome | undefined> {
  if (state === 'paused')
    return { from: 'queue', outcome: failedWith(organization, pausedError(organization, untilMs), waiting.now()) }
  const onNews = (news: WaitNews) => waiting.onNews(organization, news)
  const end =
    job === undefined
      ? ({ end: 'lost' } as const)
      : await endOfJob(opened.queues[job.queue], job.id, { ...waiting, onNews })
  if (end.end === 'left') return undefined
  const runs = (await waiting.listRuns(organization)).filter(
    (run) => hasEnded(run) && (run.runId ?? 0) > waiting.lastRunBefore,
  )
  const isCancelled = end.end === 'lost' && job !== undefined && (await wasCancelled(opened, organization, job.id))
  return waitedOutcome({ organization, isQuick: job?.queue === 'quick', end, isCancelled, runs, nowMs: waiting.now() })
}

async function wasCancelled({ backend }: OpenedQueue, organization: string, id: string): Promise<boolean> {
  const cancelled = await answerOf(backend, listCancellations(backend.values))
  return cancelled.get(organization)?.jobs.includes(id) === true
}

function hasEnded({ finishedAtMs }: Report): boolean {
  return finishedAtMs !== undefined
}

/** For a command that asks for a run of a paused organization. `untilMs` is undefined where the end of the pause is not known. */
function pausedError(organization: string, untilMs: number | undefined): OrganizationPaused {
  const until = untilMs === undefined ? '' : ` until ${moment(untilMs)}`
  return new OrganizationPaused(`${organization}: is paused${until}, so no run was started.`)
}
