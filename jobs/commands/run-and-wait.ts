import { deleteCancellation, listCancellations } from '../cancel.ts'
import { readPauses } from '../pauses.ts'
import { type OpenedQueue, type QueueConfig, requireMirrorOfQueue, withQueues } from '../queue/backend.ts'
import { within } from '../queue/deadline.ts'
import { KINDS, type RunKind } from '../queue/kinds.ts'
import { type Counts, findJob, jobStateOf, progressOf, type Queues } from '../queue/queues.ts'
import { failedWith, reasonOf } from '../run/run-job.ts'
import { isErrorCode } from '../../src/errors/error-facts.ts'
import { Cancelled, OrganizationPaused, QueueUnavailable, reportedError } from '../../src/errors/errors.ts'
import { sleep } from '../../src/machine/timers.ts'
import { pauseOf } from '../../src/model/pause.ts'
import { emptyReport, type Report } from '../../src/model/report.ts'
import type { Outcome } from '../../src/sync/mirror-organization.ts'
import { moment } from '../../src/text/wording.ts'

/** What became of a request: a new job, or the one that the organization has. */
export type RequestedRun = {
  organization: string
  added: boolean
  /**
   * The state of the job; `started` where it was delayed and no longer is, `full-run` where a full run makes a partial one needless,
   * `told-to-wait` where the service has said when to ask again, and `paused` where the organization is paused, so that nothing was
   * requested.
   */
  state: string
  /** Until when the service asked to wait, or the pause lasts, in Unix milliseconds. */
  untilMs?: number | undefined
  /** The job to wait for; undefined where it has just ended. */
  job: { queue: RunKind; id: string } | undefined
}

export type RequestOptions = {
  kind: RunKind
  /** Whether to start jobs that wait for their next attempt. */
  now?: boolean | undefined
  clock: () => number
}

/** Requests a run of each of these organizations, and does `then` with what came of it while the queue is open. */
export async function requestRuns<Result>(
  config: QueueConfig,
  organizations: readonly string[],
  options: RequestOptions,
  then: (requested: RequestedRun[], opened: OpenedQueue) => Promise<Result> | Result,
): Promise<Result> {
  return withQueues(config, { noSharedQueue: NO_SHARED_QUEUE }, async (opened) => {
    await requireMirrorOfQueue(opened.backend.values, config.mirror)
    const requested: RequestedRun[] = []
    const pauses = await readPauses(opened.backend.values)
    for (const organization of organizations) {
      const paused = pauseOf(pauses, organization, options.clock())
      const run =
        paused === undefined
          ? await request(opened, organization, options)
          : { added: false, state: 'paused', untilMs: paused.untilMs, job: undefined }
      requested.push({ organization, ...run })
    }
    return then(requested, opened)
  })
}

async function request(
  { queues, backend }: OpenedQueue,
  organization: string,
  options: RequestOptions,
): Promise<Omit<RequestedRun, 'organization'>> {
  const { kind } = options
  const fullRun = !KINDS[kind].isPartial ? null : await queues.sync.getDeduplicationJobId(organization)
  if (fullRun !== null && (await jobStateOf(queues.sync, organization)) !== undefined)
    return { added: false, state: 'full-run', job: { queue: 'sync', id: fullRun } }
  const { id, added, state } = await queues.request(kind, organization, 'manual')
  // What was cancelled before is wanted again.
  if (added && !KINDS[kind].isPartial) await deleteCancellation(backend.values, organization)
  const hastened = !added && state === 'delayed' ? await hasten(queues[kind], organization, options) : { state }
  return { added, ...hastened, job: id === undefined ? undefined : { queue: kind, id } }
}

/** Starts a job at once whose pause has ended, or with `now` any delayed job that does not wait on behalf of its service. */
async function hasten(
  queue: OpenedQueue['queues']['sync'],
  organization: string,
  { now, clock }: RequestOptions,
): Promise<Pick<RequestedRun, 'state' | 'untilMs'>> {
  const job = await findJob(queue, organization)
  const { why, untilMs = 0 } = (job && progressOf(job).wait) ?? {}
  if (why === 'rate-limit' && untilMs > clock()) return { state: now ? 'told-to-wait' : 'delayed', untilMs }
  if (job === undefined || (!now && why !== 'pause')) return { state: 'delayed' }
  return job.promote().then(
    () => ({ state: 'started' }),
    // It was started, or ended, in this moment.
    async () => ({ state: (await jobStateOf(queue, organization)) ?? 'ended' }),
  )
}

const NO_SHARED_QUEUE =
  'There is no queue to put a job into: an embedded queue is open only in its worker. Name a redis:// or postgres:// ' +
  "address as queue in the configuration, or run 'customer-mirror sync' instead."

/**
 * The outcome of a job that another process ran. `from` says where its report comes from: the `mirror` on this machine, or only the
 * numbers or the reason that the `queue` keeps. `none-needed`: the job ended without a run, because the list was read since it
 * was due. `none-possible`: none could be made.
 */
export type WaitedOutcome = { outcome: Outcome; from: 'mirror' | 'queue' | 'none-needed' | 'none-possible' }

/** The outcome of one organization; undefined if the wait was ended before its job. */
export type Waited = { organization: string; waited: WaitedOutcome | undefined }

/** What a person who waits wants to know meanwhile. */
export type WaitNews = { news: 'not-taken' | 'queue-lost' | 'queue-back' } | { news: 'delayed'; reason: string }

export type Waiting = {
  /** Aborting it ends the wait; the job stays. */
  signal: AbortSignal
  monotonicMs: () => number
  lookMs?: number
  /** After which time a job that no worker has taken is reported. */
  notTakenMs?: number
  /** After which time without an answer the queue is reported as lost. */
  lostMs?: number
}

export type WaitingForRuns = Waiting & {
  now: () => number
  /** The latest runs of an organization in the mirror of this machine, newest first; none where there is no mirror. */
  listRuns: (organization: string) => Promise<readonly Report[]>
  onRequested: (requested: readonly RequestedRun[]) => void
  onNews: (organization: string, news: WaitNews) => void
}

/** Requests runs, and waits until each organization's job has ended, whether the job is new or was there before. */
export async function runAndWait(
  config: QueueConfig,
  organizations: readonly string[],
  options: RequestOptions,
  waiting: WaitingForRuns,
): Promise<Waited[]> {
  const askedAtMs = waiting.now()
  return requestRuns(config, organizations, options, (requested, opened) => {
    waiting.onRequested(requested)
    return Promise.all(
      requested.map(async (run) => ({
        organization: run.organization,
        waited: await endOf(opened, run, { ...waiting, askedAtMs }),
      })),
    )
  })
}

async function endOf(
  opened: OpenedQueue,
  { organization, job, state, untilMs }: RequestedRun,
  waiting: WaitingForRuns & { askedAtMs: number },
): Promise<WaitedOutcome | undefined> {
  const failed = (error: Error): WaitedOutcome => {
    return { from: 'queue', outcome: failedWith(organization, error, waiting.now()) }
  }
  if (state === 'paused') {
    const until = untilMs === undefined ? '' : ` until ${moment(untilMs)}`
    return failed(new OrganizationPaused(`${organization}: is paused${until}, so no run was started.`))
  }
  const onNews = (news: WaitNews) => waiting.onNews(organization, news)
  const end: JobEnd = job ? await endOfJob(opened.queues[job.queue], job.id, waiting, onNews) : { end: 'lost' }
  if (end.end === 'left') return undefined
  const run = (await waiting.listRuns(organization)).find((report) => isOf(report, end, waiting.askedAtMs))
  if (run !== undefined) return inMirror(run)
  if (end.end === 'failed') return failed(errorFrom(organization, end.reason))
  if (end.end === 'lost') {
    const cancelled = job && (await listCancellations(opened.backend.values)).get(organization)?.jobs.includes(job.id)
    return failed(
      cancelled === true
        ? new Cancelled(`${organization}: its job was cancelled before it was started.`)
        : new QueueUnavailable(`${organization}: ${LOST}`),
    )
  }
  const report = emptyReport({ organization, trigger: 'manual', startedAtMs: waiting.now() })
  const outcome: Outcome = { report: { ...report, ...end.counts, status: 'complete' }, error: undefined }
  if (Object.keys(end.counts).length > 0) return { outcome, from: 'queue' }
  return { outcome, from: job && KINDS[job.queue].isPartial ? 'none-possible' : 'none-needed' }
}

/** Whether a run of the mirror is that of the job. For a lost job that is one which has ended since it was asked for. */
function isOf(report: Report, end: JobEnd, askedAtMs: number): boolean {
  if (end.end === 'completed') return report.runId === end.counts['runId']
  if (end.end === 'failed') return report.error !== undefined && reasonOf(inMirror(report).outcome) === end.reason
  return report.finishedAtMs !== undefined && report.startedAtMs >= askedAtMs
}

const LOST = 'its job is no longer in the queue, and no run since then has ended here. Request it again.'

function inMirror(report: Report): WaitedOutcome {
  return { outcome: { report, error: report.error && reportedError(report.error) }, from: 'mirror' }
}

/** The error of a run that only the queue reports, as `code: message`; the queue gives up jobs too, in its own words. */
export function errorFrom(organization: string, reason: string): Error {
  const [code = ''] = reason.split(': ', 1)
  if (isErrorCode(code)) return reportedError({ code, message: reason.slice(code.length + 2) })
  if (code === 'unexpected')
    return new Error(`${organization}: its run failed unexpectedly. See the log of its worker.`)
  return new QueueUnavailable(`${organization}: the queue gave up its job (${reason}). See the log of its worker.`)
}

/** How a job ended. `lost`: the queue no longer has it. `left`: the wait was ended before the job. */
type JobEnd =
  | { end: 'completed'; counts: Counts }
  | { end: 'failed'; reason: string }
  | { end: 'lost' }
  | { end: 'left' }

/** Waits until a job has ended, through losses of the queue. What changes is reported once. */
export async function endOfJob(
  queue: Pick<Queues['sync'], 'getJob' | 'getJobState'>,
  id: string,
  { signal, monotonicMs, lookMs = 500, notTakenMs = 10_000, lostMs = 5000 }: Waiting,
  onNews: (news: WaitNews) => void,
): Promise<JobEnd> {
  const notTakenAtMs = monotonicMs() + notTakenMs
  let [wasTaken, before]: [boolean, WaitNews['news'] | undefined] = [false, undefined]
  for (;;) {
    // A queue that is away is asked again until it answers.
    const look = await within(lookAt(queue, id), lostMs, undefined, signal).catch(() => undefined)
    if (signal.aborted) return { end: 'left' }
    if (before === 'queue-lost' && look !== undefined) onNews({ news: 'queue-back' })
    if (look !== undefined && 'end' in look) return look
    wasTaken ||= look !== undefined && look.state !== 'waiting'
    const news: WaitNews | undefined =
      look === undefined
        ? { news: 'queue-lost' }
        : look.state === 'delayed'
          ? { news: 'delayed', reason: look.reason }
          : !wasTaken && monotonicMs() >= notTakenAtMs
            ? { news: 'not-taken' }
            : undefined
    if (news !== undefined && news.news !== before) onNews(news)
    before = news?.news
    await sleep(lookMs, signal).catch(() => {})
  }
}

type Look = JobEnd | { state: string; reason: string }

async function lookAt(queue: Pick<Queues['sync'], 'getJob' | 'getJobState'>, id: string): Promise<Look> {
  const state = await queue.getJobState(id)
  if (state === 'active' || state === 'waiting' || state === 'prioritized') return { state, reason: '' }
  const job = await queue.getJob(id)
  if (job === undefined) return { end: 'lost' }
  if (state === 'completed') return { end: 'completed', counts: job.returnvalue ?? {} }
  if (state === 'failed') return { end: 'failed', reason: job.failedReason ?? '' }
  return { state: state ?? '', reason: job.failedReason ?? '' }
}
