import { setTimeout as sleep } from 'node:timers/promises'
import type { Kind, SoakEvent } from './plan.ts'
import { readRuns, type StoredRun } from './stored.ts'
import { endLife, type Life, lifeOf, type Worker } from './worker-process.ts'
import { cancelRun, requestRuns, startWorker, type World, writeConfiguration } from './world.ts'
import { below, seededRandom } from '../../src/service/customers.ts'

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
  if (kind === 'kill-queue' || kind === 'forget-queue') await redis?.start()
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

/** A list is compared after so many complete readings that began after its last change: a customer who left is removed by the second. */
const READINGS = 2
/** The longest wait for them, while all that a run needs is there, and by the clock. */
const MOST_REST_MS = 400_000
const MOST_BY_CLOCK_MS = 1_200_000

/**
 * Waits until each organization came due by itself and was read, then until it was read often enough for the comparison, and until a night
 * was reported: the events of a short soak may leave none whole. Returns what did not happen.
 */
export async function comeToRest(
  world: World,
  { wellFor, signal }: { wellFor: (fromMs: number, toMs: number) => number; signal: AbortSignal },
): Promise<string[]> {
  const { service, organizations, now } = world
  service.isFlaky = false
  const restMs = now()
  const isOver = () => signal.aborted || wellFor(restMs, now()) > MOST_REST_MS || now() - restMs > MOST_BY_CLOCK_MS
  const lacking = async (readings: number, isWanted: (run: StoredRun) => boolean) => {
    const runs = (await readRuns(world.mirror)).filter((run) => run.asOfMs >= restMs && isReading(run) && isWanted(run))
    return organizations
      .map(({ id }) => id)
      .filter((id) => runs.filter(({ organization }) => organization === id).length < readings)
  }
  const waitFor = async (find: () => Promise<string[]>, what: string) => {
    for (;;) {
      const left = await find()
      if (left.length === 0) return []
      if (isOver()) return left.map((organization) => `${organization}: ${what}`)
      await sleep(LOOK_MS)
    }
  }
  const byItself = ({ trigger }: StoredRun) => trigger === 'schedule' || trigger === 'catch-up'
  const unscheduled = await waitFor(() => lacking(1, byItself), 'no run followed its schedule once all was at rest')
  if (unscheduled.length > 0) return unscheduled
  await requestLastRuns(world, await lacking(READINGS, () => true))
  const unread = await waitFor(
    () => lacking(READINGS, () => true),
    `was not read ${READINGS} times once all was at rest`,
  )
  if (unread.length > 0) return unread
  const hasReport = () => service.reports.length > 0
  return waitFor(async () => (hasReport() ? [] : ['every night']), 'no report came, though all was at rest')
}

function isReading({ status, proof, isPartial }: StoredRun): boolean {
  return status === 'complete' && !isPartial && proof !== 'unproven'
}

/** The embedded queue is opened while its worker is stopped in good order. */
async function requestLastRuns(world: World, organizations: readonly string[]): Promise<void> {
  const worker = world.redis === undefined ? world.workers[0] : undefined
  const life = worker && lifeOf(worker)
  if (life !== undefined) await endLife(life, 'stopped')
  await untilTaken(() => requestRuns(world, organizations))
  if (worker !== undefined) startWorker(world, worker)
}

/** On a busy machine the queue may be slow to answer. */
async function untilTaken(request: () => Promise<void>): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await request()
    } catch (error) {
      if (tries === MOST_REQUESTS) throw error
      await sleep(LOOK_MS)
    }
  }
}

/** Stops every worker in good order. */
export async function stopWorkers({ workers }: World): Promise<void> {
  const lives = workers.map(lifeOf).filter((life) => life !== undefined)
  await Promise.all(lives.map((life) => endLife(life, 'stopped')))
}

const LOOK_MS = 1000
const MOST_REQUESTS = 20
