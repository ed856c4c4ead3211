import { setTimeout as sleep } from 'node:timers/promises'
import type { Kind, SoakEvent } from './plan.ts'
import { below, seededRandom } from '../../src/service/random.ts'
import { cancelRun, requestRuns, startWorker, writeConfiguration, type World } from './world.ts'
import { endLife, lifeOf, type Life, type Worker } from './worker-process.ts'

/** The begin or the end of an event. */
type Step = { atMs: number; event: SoakEvent; isEnd: boolean }

/** Plays the events at their times, and returns when the last has ended. */
export async function playEvents(
  world: World,
  events: readonly SoakEvent[],
  { signal, say }: { signal: AbortSignal; say: (event: SoakEvent) => void },
): Promise<void> {
  const begunMs = performance.now()
  const steps = events.flatMap((event): Step[] => [
    { atMs: event.atMs, event, isEnd: false },
    { atMs: event.untilMs, event, isEnd: true },
  ])
  for (const { atMs, event, isEnd } of steps.toSorted((a, b) => a.atMs - b.atMs)) {
    await sleep(Math.max(0, atMs - (performance.now() - begunMs)), undefined, { signal })
    if (!isEnd) say(event)
    await (isEnd ? end : begin)(world, event)
  }
}

async function begin(world: World, { kind, target }: SoakEvent): Promise<void> {
  const { redis, postgres, service } = world
  const life = lifeOfTarget(world, target)
  if (KEEPS_FROM_STARTING.has(kind)) world.troubles.push({ kind, fromMs: world.now(), toMs: Infinity })
  if (kind === 'kill-worker' && life !== undefined) await endLife(life, 'killed')
  if (kind === 'stop-worker' && life !== undefined) void endLife(life, 'stopped')
  if (kind === 'freeze-worker') freeze(life, world.now())
  if (kind === 'kill-queue' || kind === 'forget-queue') await redis?.kill()
  if (kind === 'forget-queue') {
    world.forgotten += 1
    redis?.forget()
  }
  if (kind === 'freeze-queue') redis?.freeze()
  if (kind === 'kill-mirror') await postgres?.kill()
  if (kind === 'fail-service') service.fails = true
  if (kind === 'edit-configuration') await writeConfiguration(world, `# Edited at ${world.now()}.\n`)
  if (kind === 'break-configuration') await writeConfiguration(world, 'mirorr: ./elsewhere.db\n')
  if (kind === 'request-run') void asked(requestRuns(world, [target]))
  if (kind === 'request-quick') void asked(requestRuns(world, [target], 'quick'))
  if (kind === 'cancel-run') void asked(cancelRun(world, target))
}

async function end(world: World, { kind, target }: SoakEvent): Promise<void> {
  const { redis, postgres, service, workers } = world
  const worker = workers.find(({ name }) => name === target)
  if (kind === 'kill-worker' || kind === 'stop-worker') {
    const life = worker?.lives.at(-1)
    // One that had ended by itself before the event is started again by `keepWorkers`, and goes on.
    if (worker === undefined || life?.endsAs === undefined) return
    await life.ended
    startWorker(world, worker)
  }
  if (kind === 'freeze-worker') thaw(lifeOfTarget(world, target))
  if (kind === 'kill-queue' || kind === 'forget-queue') redis?.start()
  if (kind === 'freeze-queue') redis?.thaw()
  if (kind === 'kill-mirror') await postgres?.start()
  if (kind === 'fail-service') service.fails = false
  if (kind === 'break-configuration') await writeConfiguration(world, '')
  if (!KEEPS_FROM_STARTING.has(kind)) return
  for (const trouble of world.troubles) if (trouble.kind === kind) trouble.toMs = Math.min(trouble.toMs, world.now())
}

const KEEPS_FROM_STARTING: ReadonlySet<Kind> = new Set([
  'kill-queue',
  'forget-queue',
  'freeze-queue',
  'kill-mirror',
  'break-configuration',
])

function lifeOfTarget({ workers }: World, target: string): Life | undefined {
  const worker = workers.find(({ name }) => name === target)
  return worker && lifeOf(worker)
}

function freeze(life: Life | undefined, nowMs: number): void {
  if (life === undefined) return
  life.isFrozen = true
  life.frozenAtMs.push(nowMs)
  life.process.kill('SIGSTOP')
}

function thaw(life: Life | undefined): void {
  if (life === undefined) return
  life.isFrozen = false
  life.process.kill('SIGCONT')
}

/** A queue that cannot be reached takes no request; a user would see an error. */
async function asked(answer: Promise<void>): Promise<void> {
  await Promise.race([answer.catch(() => {}), sleep(REQUEST_MS, undefined, { ref: false })])
}

const REQUEST_MS = 5000

/** Changes the lists until `signal` is aborted. */
export async function changeLists({ service, now }: World, seed: string, signal: AbortSignal): Promise<void> {
  const random = seededRandom(`${seed} pace`)
  const lists = [...service.lists.values()]
  while (!signal.aborted) {
    lists[below(random, lists.length)]?.change(now())
    await sleep(50 + below(random, 400), undefined, { signal }).catch(() => {})
  }
}

/** Starts workers that ended by themselves again, as a service manager does, until `signal` is aborted. */
export async function keepWorkers(world: World, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    for (const worker of world.workers) if (isToRestart(worker)) startWorker(world, worker)
    await sleep(RESTART_MS, undefined, { signal }).catch(() => {})
  }
}

/** One that the soak ended is started by the end of that event. */
function isToRestart(worker: Worker): boolean {
  return lifeOf(worker) === undefined && worker.lives.at(-1)?.endsAs === undefined
}

const RESTART_MS = 2000
