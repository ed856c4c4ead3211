import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  abandonedForNothing,
  alarms,
  badlyEnded,
  compareCustomers,
  missedDueTimes,
  oddEnds,
  overlappingRuns,
  personalData,
  repeatedDueTimes,
  reportsOfNights,
  requestsOfTwo,
  type Written,
  type Health,
} from './checks.ts'
import { readCustomers, readDamage, readRemovals, readRuns, type StoredRun } from './stored.ts'
import { hasStarted } from './worker-process.ts'
import { SPREAD_MS, type World } from './world.ts'
import { comingRuns } from '../../jobs/schedule/due-times.ts'

/**
 * For how long a due time may go without a run while a worker, the queue and the service are there: the lease of a run whose worker
 * stands still lasts a minute, and after that come the waits of a retry, of a lost lock and of the look for missed runs.
 */
const ALLOWED_MS = 150_000

/** All that is wrong after a soak. Workers have ended. */
export async function inspect(
  world: World,
  { health, begunMs, endMs }: { health: Health; begunMs: number; endMs: number },
) {
  const { mirror, service, workers } = world
  const runs = await readRuns(mirror)
  const lives = workers.flatMap((worker) => worker.lives)
  const fates = lives.map(({ name, frozenAtMs, endedAtMs }) => ({ name, frozenAtMs, endedAtMs }))
  const logs = lives.map(({ name, log }) => ({ place: `the log of ${name}`, text: readFileSync(log, 'utf8') }))
  const lived = lives.map((life) => ({ ...life, hasStarted: hasStarted(life), exitCode: life.process.exitCode }))
  const findings = [
    ...(await readDamage(mirror)).map((line) => `the mirror is damaged: ${line}`),
    ...(await compareAll(world)),
    ...overlappingRuns(runs),
    ...requestsOfTwo(runs, service.requests, fates),
    ...abandonedForNothing(runs, service.requests, fates),
    ...badlyKept(runs, { world, health, begunMs, endMs }),
    ...badlyEnded(runs),
    ...oddEnds(lived, world.troubles),
    ...reportsOfNights(service.reports, world.forgotten),
    ...personalData([
      ...logs,
      ...service.reports.map(({ body }) => ({ place: 'a report of a night', text: body })),
      ...filesOfQueue(world),
    ]),
    ...logs.flatMap(alarms),
  ]
  return { findings, runs }
}

async function compareAll({ mirror, service }: World): Promise<string[]> {
  const stored = Map.groupBy(await readCustomers(mirror), ({ organization }) => organization)
  const removals = Map.groupBy(await readRemovals(mirror), ({ organization }) => organization)
  const strangers = [...stored.keys()].filter((organization) => !service.lists.has(organization))
  return [
    ...strangers.map((organization) => `${organization} is in the mirror and not in the configuration`),
    ...[...service.lists].flatMap(([organization, { rows, stays }]) =>
      compareCustomers({
        ...{ organization, listed: rows(), stays },
        stored: stored.get(organization) ?? [],
        removals: removals.get(organization) ?? [],
      }),
    ),
  ]
}

function badlyKept(
  runs: readonly StoredRun[],
  { world, health, begunMs, endMs }: { world: World; health: Health; begunMs: number; endMs: number },
): string[] {
  const schedule = { ...world.schedule, spreadMs: SPREAD_MS }
  return [...world.service.lists.keys()].flatMap((organization) => {
    const minutes = Math.ceil((endMs - begunMs) / 60_000)
    const coming = comingRuns(organization, schedule, begunMs, minutes)
    const dueMs = coming.filter((atMs) => atMs <= endMs)
    const complete = runs.filter(
      (run) => run.organization === organization && run.status === 'complete' && !run.isPartial,
    )
    const startsMs = complete.map(({ startedMs }) => startedMs)
    // One that continues an interrupted run has read a part before.
    const scheduled = complete.filter(
      ({ trigger, asOfMs, startedMs }) => (trigger === 'schedule' || trigger === 'catch-up') && asOfMs === startedMs,
    )
    return [
      ...missedDueTimes({ organization, dueMs, startsMs }, { wellFor: health.wellFor, allowedMs: ALLOWED_MS, endMs }),
      ...repeatedDueTimes({ organization, dueMs, asOfMs: scheduled.map(({ asOfMs }) => asOfMs) }),
    ]
  })
}

/** What the queue keeps on the disk. */
function filesOfQueue({ folder, redis }: World): Written[] {
  const place = redis === undefined ? join(folder, 'data', 'queue') : join(folder, 'redis')
  return readdirSync(place, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => ({ place: 'the queue', text: readFileSync(join(entry.parentPath, entry.name), 'latin1') }))
}
