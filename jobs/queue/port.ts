import type { BackendFactory, IQueueBackend } from 'bullmq'
import type { z } from 'zod'
import { parsedJson } from '../../src/text/parsed-json.ts'

/** The store of the jobs. Its users do not see which kind it is. */
export type Backend = Omit<Store, 'loadFactory'> & {
  kind: 'redis' | 'postgres' | 'embedded'
  /** The address for messages, without user and password. */
  place: string
  prefix: string
  factory: Awaited<ReturnType<Store['loadFactory']>>
  /** Writes one small value. Rejects when the queue refuses it; may never settle while it is away. */
  write: () => Promise<void>
}

/** The parts of a backend that depend on its kind. */
export type Store = {
  /** Prepares the store for the queues. Only this loads BullMQ, which takes long. */
  loadFactory: () => Promise<BackendFactory<IQueueBackend, unknown>>
  values: SharedValues
  /** Ends every connection at once. */
  close: () => Promise<void>
}

export type ServerStore = Store & {
  /** Rejects where a worker could not use the server. `dropsKeysBy`: the policy by which a Redis drops keys when it is full. */
  ask: () => Promise<{ dropsKeysBy: string | undefined }>
}

export type Opening = {
  /** A connection without an answer for this long is replaced: something on the way may have dropped it, without a word to either end. */
  answerMs: number
  /** How long each question of a command waits for its answer; a worker waits as long as the queue is away. */
  commandMs?: number | undefined
  prefix: string
}

/** Small texts that all workers of a queue share, by name. Every verb rejects, or never settles, while the queue cannot be reached. */
export type SharedValues = {
  read(name: string): Promise<string | undefined>
  /** Those whose names begin so, by name. */
  list(beginning: string): Promise<Map<string, string>>
  write(name: string, value: string): Promise<void>
  delete(name: string): Promise<void>
  /** Writes a value where there is none of this name, and returns whether it did. */
  add(name: string, value: string): Promise<boolean>
  /**
   * Takes the next turn of a rate limit, `spacingMs` after the one before of any worker, by the clock of the database; none during a pause or
   * without a spacing. A positive `pauseMs` begins or lengthens a pause. Returns JSON with `turnInMs` and `pausedMs`, from now on.
   */
  takeTurn(limit: string, spacingMs: number, pauseMs: number): Promise<string>
}

/** How long to wait for a connection at the start. */
export const CONNECT_MS = 2500
/** How long to wait for an answer of the queue. One that hangs is not a refusal, and keeps no worker from stopping. */
export const ANSWER_MS = 2000
/** The same where the work goes on without that answer, as a page does, and a run that asks for pauses. */
export const OPTIONAL_ANSWER_MS = 1000

/** How far ahead a turn is believed, with hundreds of workers that wait for theirs: further ahead, another clock wrote it. */
export const FARTHEST = { ms: 600_000, turns: 100 }

export function nameInDatabase({ prefix }: { prefix: string }, queue: QueueName): string {
  return `${prefix}-${queue}`
}

/** Values of one form, kept as JSON under names that begin so. One that cannot be read was written by a newer version, and is left out. */
export function valuesNamed<Form extends z.ZodType>(beginning: string, form: Form) {
  return {
    list: async (values: Pick<SharedValues, 'list'>) => {
      const found = new Map<string, z.output<Form>>()
      for (const [name, text] of await values.list(beginning)) {
        const value = parseValue(form, text)
        if (value !== undefined) found.set(name.slice(beginning.length), value)
      }
      return found
    },
    read: async (values: Pick<SharedValues, 'read'>, name: string) =>
      parseValue(form, (await values.read(beginning + name)) ?? ''),
    write: (values: Pick<SharedValues, 'write'>, name: string, value: z.input<Form>) =>
      values.write(beginning + name, JSON.stringify(value)),
    delete: (values: Pick<SharedValues, 'delete'>, name: string) => values.delete(beginning + name),
  }
}

/** A value that is kept as JSON in this form; undefined for a text that cannot be read. */
export function parseValue<Form extends z.ZodType>(form: Form, text: string): z.output<Form> | undefined {
  return form.safeParse(parsedJson(text)).data
}

/** The kinds of runs, each with a queue and a worker of its own: the jobs of one never take the place of the other's. */
export const RUN_KINDS = ['sync', 'quick'] as const
export type RunKind = (typeof RUN_KINDS)[number]

/** The names of the queues in a database: those of runs, and that of reports of nights. */
export const QUEUE_NAMES = [...RUN_KINDS, 'notify'] as const
export type QueueName = (typeof QUEUE_NAMES)[number]

const DAY_S = 86_400

/** How the kinds differ: no partial run is waited or made up for, nor made `latestMs` late; a job ends when workers died `mostStalls` times. */
export const KINDS = {
  sync: {
    ...({ name: 'full', isPartial: false, latestMs: Infinity, atOnce: undefined, mostStalls: 3 } as const),
    job: {
      // With their waits, about an hour.
      ...{ attempts: 12, backoff: { type: 'custom' } },
      ...{ removeOnComplete: { age: 2 * DAY_S, count: 1000 }, removeOnFail: { age: 14 * DAY_S, count: 1000 } },
    },
  },
  quick: {
    ...({ name: 'quick', isPartial: true, latestMs: 60_000, atOnce: 4, mostStalls: 0 } as const),
    job: {
      attempts: 1,
      ...{ removeOnComplete: { age: DAY_S, count: 1000 }, removeOnFail: { age: 2 * DAY_S, count: 1000 } },
    },
  },
}

export function ofEachKind<Made>(make: (kind: RunKind) => Made): Record<RunKind, Made> {
  return { sync: make('sync'), quick: make('quick') }
}
