import { sleep } from '../../src/machine/timers.ts'
import { within } from '../queue/deadline.ts'
import type { Counts, Queues } from '../queue/queues.ts'

/** How a job ended. `lost`: the queue no longer has it. `left`: the wait was ended before the job. */
export type JobEnd =
  | { end: 'completed'; counts: Counts }
  | { end: 'failed'; reason: string }
  | { end: 'lost' }
  | { end: 'left' }

/** What a person who waits wants to know meanwhile. */
export type WaitNews = { news: 'not-taken' | 'queue-lost' | 'queue-back' } | { news: 'delayed'; reason: string }

export type WaitingForJob = {
  /** Aborting it ends the wait; the job stays. */
  signal: AbortSignal
  onNews: (news: WaitNews) => void
  monotonicMs: () => number
  lookMs?: number
  /** After which time a job that no worker has taken is reported. */
  notTakenMs?: number
  /** After which time without an answer the queue is reported as lost. */
  lostMs?: number
}

/** Waits until a job has ended, through losses of the queue. */
export async function endOfJob(
  queue: Pick<Queues['sync'], 'getJob' | 'getJobState'>,
  id: string,
  waiting: WaitingForJob,
): Promise<JobEnd> {
  const { signal, onNews, monotonicMs, lookMs = LOOK_MS, notTakenMs = NOT_TAKEN_MS } = waiting
  const ask = asking(() => lookAt(queue, id), waiting)
  const sinceMs = monotonicMs()
  let [wasTaken, isReported, stateBefore] = [false, false, '']
  for (;;) {
    const look = await ask()
    if (look === undefined || signal.aborted) return { end: 'left' }
    if ('end' in look) return look
    wasTaken ||= look.state !== 'waiting'
    if (look.state === 'delayed' && stateBefore !== 'delayed') onNews({ news: 'delayed', reason: look.reason })
    if (!wasTaken && !isReported && monotonicMs() - sinceMs >= notTakenMs) {
      isReported = true
      onNews({ news: 'not-taken' })
    }
    stateBefore = look.state
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

/**
 * Asks the queue until it answers. A client keeps a question until the queue is back, so the same one is waited for; one that was
 * rejected is asked again. Undefined when the wait is ended.
 */
function asking(
  question: () => Promise<Look>,
  { signal, onNews, lookMs = LOOK_MS, lostMs = LOST_MS }: WaitingForJob,
): () => Promise<Look | undefined> {
  let open: Promise<Look | 'refused'> | undefined
  let isLost = false
  return async () => {
    while (!signal.aborted) {
      open ??= question().catch(() => 'refused' as const)
      const answer = await within(open, lostMs, 'late' as const, signal)
      if (answer !== 'late') open = undefined
      if (answer !== 'late' && answer !== 'refused') {
        if (isLost) onNews({ news: 'queue-back' })
        isLost = false
        return answer
      }
      if (!isLost && !signal.aborted) onNews({ news: 'queue-lost' })
      isLost = true
      if (answer === 'refused') await sleep(lookMs, signal).catch(() => {})
    }
    return undefined
  }
}

const LOOK_MS = 500
const NOT_TAKEN_MS = 10_000
const LOST_MS = 5000
