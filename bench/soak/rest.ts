import { setTimeout as sleep } from 'node:timers/promises'
import { readRuns, type StoredRun } from './read-mirror.ts'
import { endLife, lifeOf } from './worker-process.ts'
import { requestRuns, startWorker, type World } from './world.ts'

/** A list is compared after so many complete readings that began after its last change: a customer who left is removed by the second. */
const READINGS = 2
/** The longest wait for them, while all that a run needs is there, and by the clock. */
const MOST_REST_MS = 400_000
export const MOST_BY_CLOCK_MS = 1_200_000

/**
 * Waits until each organization came due by itself and was read, and then until it was read often enough for the comparison. Returns what
 * did not happen.
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
  return waitFor(() => lacking(READINGS, () => true), `was not read ${READINGS} times once all was at rest`)
}

function isReading({ status, proof, isQuick }: StoredRun): boolean {
  return status === 'complete' && !isQuick && proof !== 'unproven'
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
