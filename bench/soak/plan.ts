import { below, type Random, seededRandom } from '../../src/service/customers.ts'

/** What happens to a target. Everything but what is asked of an organization lasts for a while. */
export type Kind =
  /** A worker ends at once, or in good order, or stands still; then it is started again, or goes on. */
  | 'kill-worker'
  | 'stop-worker'
  | 'freeze-worker'
  /** The queue ends at once and comes back with what it had, or without; or it stands still. */
  | 'kill-queue'
  | 'forget-queue'
  | 'freeze-queue'
  /** The server of the mirror ends at once, and is started again. */
  | 'kill-mirror'
  /** The service answers 503 to every request. */
  | 'fail-service'
  /** The configuration file is written anew with another comment, or with a mistake that is taken out again. */
  | 'edit-configuration'
  | 'break-configuration'
  /** A full or a quick run is requested by hand. */
  | 'request-run'
  | 'request-quick'
  /** A run is cancelled. */
  | 'cancel-run'

/** An event from `atMs` to `untilMs`, in milliseconds since the soak began. */
export type SoakEvent = { atMs: number; untilMs: number; kind: Kind; target: string }

export type Stage = {
  seed: string
  /** All events are over by then. */
  restMs: number
  workers: readonly string[]
  organizations: readonly string[]
  queue: 'redis' | 'embedded'
  mirror: 'sqlite' | 'postgres'
}

/** The events of a soak, in order: the same ones for the same seed. No target has two at a time. */
export function planEvents({ seed, restMs, workers, organizations, queue, mirror }: Stage): SoakEvent[] {
  const random = seededRandom(`${seed} events`)
  const kinds = CHOICES.filter(({ only }) => only === undefined || only === queue || only === mirror)
  const weighted = kinds.flatMap((choice) => Array<Choice>(choice.weight).fill(choice))
  const freeFrom = new Map<string, number>()
  const events: SoakEvent[] = []
  for (let atMs = FIRST_MS; ; atMs += between(random, PAUSE_MS)) {
    const { kind, lastsMs, on } = oneOf(random, weighted)
    const target = on === 'worker' ? oneOf(random, workers) : on === 'organization' ? oneOf(random, organizations) : on
    const untilMs = atMs + between(random, oneOf(random, lastsMs))
    if (atMs + SHORTEST_MS > restMs) return events
    if ((freeFrom.get(target) ?? 0) > atMs) continue
    events.push({ atMs, untilMs: Math.min(untilMs, restMs), kind, target })
    if (on !== 'organization') freeFrom.set(target, untilMs + BREATHER_MS[queue])
  }
}

type Range = readonly [number, number]

type Choice = {
  kind: Kind
  /** How often, against the others. */
  weight: number
  on: 'worker' | 'queue' | 'mirror' | 'service' | 'configuration' | 'organization'
  /** The ranges that a duration is drawn from; a range that stands twice is drawn twice as often. */
  lastsMs: readonly [Range, ...Range[]]
  /** The queue or the mirror that it happens to or needs. */
  only?: 'redis' | 'postgres'
}

const MOMENT: Range = [1, 2]
const BRIEF: Range = [500, 6000]
const SHORT: Range = [2000, 12_000]
/** Longer than the lock of a job, and mostly longer than the lease of a run in the mirror, which lasts a minute. */
const LONG: Range = [25_000, 80_000]

const CHOICES: readonly Choice[] = [
  { kind: 'kill-worker', weight: 6, on: 'worker', lastsMs: [BRIEF] },
  { kind: 'stop-worker', weight: 3, on: 'worker', lastsMs: [BRIEF] },
  { kind: 'freeze-worker', weight: 5, on: 'worker', lastsMs: [SHORT, SHORT, LONG] },
  { kind: 'kill-queue', weight: 3, on: 'queue', lastsMs: [BRIEF], only: 'redis' },
  { kind: 'freeze-queue', weight: 2, on: 'queue', lastsMs: [SHORT], only: 'redis' },
  { kind: 'forget-queue', weight: 2, on: 'queue', lastsMs: [BRIEF], only: 'redis' },
  { kind: 'kill-mirror', weight: 3, on: 'mirror', lastsMs: [BRIEF], only: 'postgres' },
  { kind: 'fail-service', weight: 2, on: 'service', lastsMs: [SHORT] },
  { kind: 'edit-configuration', weight: 1, on: 'configuration', lastsMs: [MOMENT] },
  { kind: 'break-configuration', weight: 1, on: 'configuration', lastsMs: [SHORT] },
  { kind: 'request-run', weight: 8, on: 'organization', lastsMs: [MOMENT], only: 'redis' },
  { kind: 'request-quick', weight: 3, on: 'organization', lastsMs: [MOMENT], only: 'redis' },
  { kind: 'cancel-run', weight: 2, on: 'organization', lastsMs: [MOMENT], only: 'redis' },
]

const FIRST_MS = 6000
const PAUSE_MS: Range = [300, 2500]
const SHORTEST_MS = 1000
/** How long a target is left alone after an event. A worker with an embedded queue starts more slowly. */
const BREATHER_MS = { redis: 4000, embedded: 10_000 }

function between(random: Random, [from, to]: Range): number {
  return from + below(random, to - from)
}

function oneOf<Item>(random: Random, items: readonly Item[]): Item {
  const item = items[below(random, items.length)]
  if (item === undefined) throw new Error('There is nothing to choose from')
  return item
}
