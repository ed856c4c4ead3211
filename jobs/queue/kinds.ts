import type { JobsOptions } from 'bullmq'

/** The kinds of runs, each with a queue and a worker of its own: the jobs of one never take the place of the other's. */
export const RUN_KINDS = ['sync', 'quick'] as const
export type RunKind = (typeof RUN_KINDS)[number]

/** The names of the queues in a database: those of runs, and that of reports of nights. */
export const QUEUE_NAMES = [...RUN_KINDS, 'notify'] as const
export type QueueName = (typeof QUEUE_NAMES)[number]

export type Kind = {
  /** In words, and in the log. */
  name: 'full' | 'quick'
  title: string
  /** Whether it reads only a part of the list: the next one finds what it did not, so none is waited for or made up for. */
  isPartial: boolean
  /** A run that is later than this is left out. */
  latestMs: number
  /** How many one worker makes at the same time; undefined: as configured. */
  atOnce: number | undefined
  /** A job is given up after its workers died so many times. */
  mostStalls: number
  job: JobsOptions
}

const DAY_S = 86_400

export const KINDS: Readonly<Record<RunKind, Kind>> = {
  sync: {
    ...{ name: 'full', title: 'run', isPartial: false, latestMs: Infinity, atOnce: undefined, mostStalls: 3 },
    job: {
      // With their waits, about an hour.
      attempts: 12,
      backoff: { type: 'custom' },
      removeOnComplete: { age: 2 * DAY_S, count: 1000 },
      removeOnFail: { age: 14 * DAY_S, count: 1000 },
    },
  },
  quick: {
    ...{ name: 'quick', title: 'quick run', isPartial: true, latestMs: 60_000, atOnce: 4, mostStalls: 0 },
    job: {
      attempts: 1,
      removeOnComplete: { age: DAY_S, count: 1000 },
      removeOnFail: { age: 2 * DAY_S, count: 1000 },
    },
  },
}

/** Makes one thing for each kind of run. */
export function ofEachKind<Made>(make: (kind: RunKind) => Made): Record<RunKind, Made> {
  return { sync: make('sync'), quick: make('quick') }
}
