import { DelayedError, UnrecoverableError, WaitingError } from 'bullmq'
import { KINDS, type RunKind } from '../../jobs/queue/port.ts'
import type { Queues, RunJob } from '../../jobs/queue/queues.ts'

type State = 'waiting' | 'active' | 'delayed' | 'completed' | 'failed'

export type PlayedJob = {
  readonly id: string
  readonly kind: RunKind
  readonly name: string
  readonly data: RunJob['data']
  readonly timestamp: number
  readonly opts: (typeof KINDS)[RunKind]['job']
  state: State
  fromMs: number
  attemptsStarted: number
  attemptsMade: number
  stalls: number
  progress: object
}

/** The queue of a world, as BullMQ keeps it: one job an organization and kind, one a name, with retries and delays. It may be away, or forget. */
export class PlayedQueue {
  isAway = false
  readonly #nowMs: () => number
  #jobs: PlayedJob[] = []
  #made = 0

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
  }

  readonly asked: Pick<Queues, 'request'> = {
    request: async (kind, organization, name, requested) => {
      const { dueMs, askedAtMs = this.#nowMs() } = { ...requested }
      this.#requireThere()
      const id =
        name === 'schedule' && dueMs !== undefined ? `${organization}.${dueMs}` : `${organization} ${(this.#made += 1)}`
      const known = this.#jobs.find((job) => job.kind === kind && job.id === id) ?? this.#openOf(kind, organization)
      if (known !== undefined) return known.state
      this.#jobs.push({
        ...{ id, kind, name, data: { organization, ...(dueMs !== undefined && { dueMs }) }, timestamp: askedAtMs },
        ...{ opts: KINDS[kind].job, state: 'waiting', fromMs: 0 },
        ...{ attemptsStarted: 0, attemptsMade: 0, stalls: 0, progress: {} },
      })
      return 'added'
    },
  }

  /** The part that partial runs look at. */
  readonly looked: Pick<Queues, 'stateOf'> = {
    stateOf: async (kind, organization) => this.#openOf(kind, organization)?.state,
  }

  get nextMs(): number | undefined {
    const waiting = this.#jobs.filter(isToStart)
    return waiting.length === 0 ? undefined : Math.min(...waiting.map(({ fromMs }) => fromMs))
  }

  /** Starts the first job that may be started now, of this organization where one is named. */
  take(named?: string): PlayedJob | undefined {
    if (this.isAway) return undefined
    const nowMs = this.#nowMs()
    const isNamed = ({ data: { organization } }: PlayedJob) => (named ?? organization) === organization
    const job = this.#jobs.find((each) => isToStart(each) && each.fromMs <= nowMs && isNamed(each))
    if (job === undefined) return undefined
    job.state = 'active'
    job.attemptsStarted += 1
    return job
  }

  /** The job as its run sees it, which may move it only while it has it. */
  handed(job: PlayedJob, holds: () => boolean): RunJob {
    const change = (changes: Partial<PlayedJob>) => {
      this.#requireThere()
      if (!holds()) throw new Error('The lock of this job was lost.')
      Object.assign(job, changes)
    }
    return Object({
      ...job,
      moveToWait: async () => change({ state: 'waiting', fromMs: 0 }),
      moveToDelayed: async (untilMs: number) => change({ state: 'delayed', fromMs: untilMs }),
      updateProgress: async (progress: object) => change({ progress }),
    })
  }

  end(job: PlayedJob, error: unknown): void {
    const isMoved = (error instanceof DelayedError || error instanceof WaitingError) && job.state !== 'active'
    if (isMoved) return
    const delayMs = error instanceof Error && 'delayMs' in error ? Number(error.delayMs) : undefined
    if (error !== undefined && delayMs === undefined && !(error instanceof UnrecoverableError))
      return this.takeBack(job)
    job.attemptsMade += 1
    const isTriedAgain = delayMs !== undefined && job.attemptsMade < (job.opts.attempts ?? 1)
    if (isTriedAgain) Object.assign(job, { state: 'delayed', fromMs: this.#nowMs() + delayMs })
    else job.state = error === undefined ? 'completed' : 'failed'
  }

  /** A worker that ended without a word had this job. */
  takeBack(job: PlayedJob): void {
    job.stalls += 1
    if (job.stalls > KINDS[job.kind].mostStalls) job.state = 'failed'
    else Object.assign(job, { state: 'waiting', fromMs: 0 })
  }

  forget(): void {
    this.#jobs = []
  }

  #openOf(kind: RunKind, organization: string): PlayedJob | undefined {
    return this.#jobs.find((job) => job.kind === kind && job.data.organization === organization && isOpen(job))
  }

  #requireThere(): void {
    if (this.isAway) throw new Error('The queue is away.')
  }
}

function isToStart({ state }: PlayedJob): boolean {
  return state === 'waiting' || state === 'delayed'
}

function isOpen(job: PlayedJob): boolean {
  return job.state === 'active' || isToStart(job)
}
