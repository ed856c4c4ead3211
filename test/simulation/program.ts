import type { RunKind } from '../../jobs/queue/port.ts'
import { type Processing, type RunOfJob, runForJob } from '../../jobs/run-job.ts'
import { dueTimesLook, type Occasion, requestMissedRuns } from '../../jobs/schedule/due-runs.ts'
import { TIMINGS } from '../../jobs/timings.ts'
import type { Config } from '../../src/config/read-config.ts'
import { type Mirror, openMirror } from '../../src/store/mirror.ts'
import { Killed } from './disk.ts'
import type { PlayedJob, PlayedQueue } from './queue.ts'

/** What a program shares with the rest of its world. */
export type Surroundings = {
  file: string
  queue: PlayedQueue
  config: { readonly current: Config }
  clocks: Pick<Processing, 'now' | 'monotonicMs' | 'random'>
  wire: NonNullable<Processing['wire']>
  /** Whether the machine has stopped below it. */
  isDead: () => boolean
  /** Everything that it says, for those who look for secrets in it. */
  say: (text: string) => void
}

/** The end of a job: the run, where it made one, and what the queue hears. */
export type Ended = { run: RunOfJob | undefined; why: string | undefined; error: unknown }

/** A worker of a world: its mirror, its schedule, and the jobs that it takes; the code is that of the real one. */
export class Program {
  readonly #world: Surroundings
  readonly #mirror: Mirror
  readonly #seen: Mirror
  readonly #stopping = new AbortController()
  readonly #look: () => Promise<void>
  #verbsLeft = Infinity
  #frozen = Promise.withResolvers<void>()
  #thawed = Promise.withResolvers<void>()

  private constructor(world: Surroundings, mirror: Mirror) {
    this.#world = world
    this.#mirror = mirror
    this.#seen = this.#watched(mirror)
    this.#look = dueTimesLook({ config: world.config, queues: world.queue.asked, now: world.clocks.now })
  }

  static async start(world: Surroundings): Promise<Program> {
    return new Program(world, await openMirror(world.file))
  }

  get mirror(): Mirror {
    return this.#seen
  }

  /** Puts the jobs into the queue whose moments have come. */
  async lookAtClock(): Promise<void> {
    await this.#look().catch(() => {})
  }

  async lookForMissed(occasion: Occasion): Promise<void> {
    const { queue, config, clocks } = this.#world
    const nowMs = clocks.now()
    const { organizations } = config.current
    const values = { list: async () => new Map<string, string>() }
    const looking = { queues: queue.asked, mirror: this.#seen, values, organizations, pauses: new Map() }
    await requestMissedRuns({ ...looking, occasion, nowMs, askedAtMs: nowMs }).catch(() => {})
  }

  /** Makes the run of a job. Never throws. */
  async work(kind: RunKind, job: PlayedJob): Promise<Ended> {
    const { queue, config, clocks, wire, say } = this.#world
    const ended: Ended = { run: undefined, why: undefined, error: undefined }
    const starts = job.attemptsStarted
    const handed = queue.handed(job, () => job.attemptsStarted === starts && !this.#world.isDead())
    const signals = { lost: undefined, cancelled: new AbortController().signal }
    await runForJob(kind, handed, signals, {
      organizationOf: (id) => config.current.organizations.find((organization) => organization.id === id),
      ...{ mirror: this.#seen, queues: queue.looked, values: { read: async () => undefined } },
      ...{ rateLimits: new Map(), sharedTurns: undefined, wire, pauses: { latest: async () => new Map() } },
      listener: {
        onEvent: (_, event) => say(JSON.stringify(event)),
        onAnswer: () => {},
        onRun: (run) => {
          ended.run = run
          say(JSON.stringify(run.outcome.report))
        },
        onNoRun: ({ why }) => (ended.why = why),
      },
      ...{ end: () => {}, stop: this.#stopping.signal, timings: TIMINGS, ...clocks },
    }).catch((error: unknown) => (ended.error = error))
    if (ended.error instanceof Error) say(ended.error.message)
    return ended
  }

  /** Has the machine stop for it before the verb after so many others, as a virtual machine does that is moved. */
  freezeAfter(verbs: number): Promise<void> {
    this.#verbsLeft = verbs
    this.#frozen = Promise.withResolvers()
    this.#thawed = Promise.withResolvers()
    return this.#frozen.promise
  }

  thaw(): void {
    this.#verbsLeft = Infinity
    this.#thawed.resolve()
  }

  stop(): void {
    this.#stopping.abort()
  }

  close(): Promise<void> {
    return this.#mirror.close()
  }

  #watched(mirror: Mirror): Mirror {
    const verbs = Object.entries(mirror).map(([name, verb]) => [
      name,
      typeof verb !== 'function' || name === 'pagesAtOnce' || name === 'standing'
        ? verb
        : async (...args: unknown[]): Promise<unknown> => {
            if (this.#verbsLeft-- <= 0) {
              this.#frozen.resolve()
              await this.#thawed.promise
            }
            if (this.#world.isDead()) throw new Killed('killed before')
            return Reflect.apply(verb, mirror, args)
          },
    ])
    return { ...mirror, ...Object.fromEntries(verbs) }
  }
}
