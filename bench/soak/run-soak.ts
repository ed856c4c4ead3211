import { randomInt } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { watchHealth } from './checks.ts'
import { inspect } from './inspect.ts'
import { planEvents, type SoakEvent } from './plan.ts'
import { changeLists, comeToRest, keepWorkers, MOST_BY_CLOCK_MS, playEvents, stopWorkers } from './play.ts'
import { endLife, lifeOf } from './worker-process.ts'
import { createWorld, isWell, readOptions, SOAK_HELP, type SoakOptions, startWorkers, type World } from './world.ts'

type Writer = { write(text: string): unknown }
export type Output = { stdout: Writer; stderr: Writer; signal: AbortSignal; exit: (code: 1) => void }

/** Plays a soak, prints one line of result, and returns the exit code. Throws a UsageError for arguments that make no sense. */
export async function runSoak(args: readonly string[], output: Output): Promise<0 | 1> {
  const options = readOptions(args, () => String(randomInt(1, 1_000_000)))
  if (options.help) {
    output.stdout.write(SOAK_HELP)
    return 0
  }
  const folder = mkdtempSync(join(tmpdir(), 'customer-mirror-soak-'))
  output.stderr.write(
    `Seed ${options.seed}, ${options.minutes} minutes, ${options.queue}, ${options.mirror}, in ${folder}\n`,
  )
  const world = await createWorld(folder, options).catch((error: unknown) => {
    rmSync(folder, { recursive: true, force: true })
    throw error
  })
  const progress = watchProgress(world, {
    lastMs: options.minutes * 60_000 + MOST_BY_CLOCK_MS + SPARE_MS,
    ...{ seed: options.seed, say: (text) => output.stdout.write(text), exit: output.exit },
  })
  let isRight = false
  try {
    const { findings, result } = await playAndInspect(world, options, { ...output, progress })
    isRight = findings.length === 0
    for (const finding of findings.slice(0, MOST_SHOWN)) output.stdout.write(`${finding}\n`)
    const kept = `Seed ${options.seed}; everything is kept in ${folder}`
    output.stdout.write(
      isRight
        ? `The soak passed: ${result}.\n`
        : `The soak FAILED with ${findings.length} findings: ${result}. ${kept}\n`,
    )
    return isRight ? 0 : 1
  } finally {
    progress.doing('ending its processes')
    await endAll(world)
    progress.stop()
    if ((isRight || output.signal.aborted) && !options.keep) rmSync(folder, { recursive: true, force: true })
  }
}

const MOST_SHOWN = 30
/** For the begin, for the stop of workers, and for the checks. */
const SPARE_MS = 240_000

async function playAndInspect(
  world: World,
  options: SoakOptions,
  { stderr, signal, progress: { doing } }: Output & { progress: Progress },
) {
  const begunMs = world.now()
  const health = watchHealth(() => isWell(world), world.now)
  const resting = new AbortController()
  const keeping = new AbortController()
  const quiet = AbortSignal.any([signal, resting.signal])
  const events = planEvents({
    ...options,
    restMs: restMsOf(options),
    workers: world.workers.map(({ name }) => name),
    organizations: world.organizations.map(({ id }) => id),
  })
  const say = ({ kind, target, atMs, untilMs }: SoakEvent) => {
    const event = `${seconds(atMs)} s: ${kind} ${target} for ${seconds(untilMs - atMs)} s`
    doing(`playing ${event}`)
    stderr.write(`${event}\n`)
  }
  await startWorkers(world, signal)
  const kept = keepWorkers(world, AbortSignal.any([signal, keeping.signal]))
  const changing = changeLists(world, options.seed, quiet)
  await playEvents(world, events, { signal, say })
  resting.abort()
  await changing
  doing('coming to rest')
  const restless = await comeToRest(world, { wellFor: health.wellFor, signal })
  const endMs = world.now()
  health.stop()
  keeping.abort()
  await kept
  doing('stopping its workers')
  await stopWorkers(world)
  doing('comparing mirrors')
  const { findings, runs } = await inspect(world, { health, begunMs, endMs })
  const result =
    `${world.organizations.length} mirrors compared with their service after ${events.length} events (${tally(events)}), ` +
    `${runs.length} runs, ${runs.filter(({ status }) => status === 'complete').length} of them complete, and ` +
    `${world.service.requests.length} requests in ${seconds(endMs - begunMs)} s, seed ${options.seed}`
  return { findings: [...restless, ...findings], result }
}

/** When the last readings begin: they take about as long. */
function restMsOf({ minutes, queue }: SoakOptions): number {
  const wholeMs = minutes * 60_000
  return Math.max(wholeMs / 2, wholeMs - (queue === 'redis' ? 75_000 : 90_000))
}

function tally(events: readonly SoakEvent[]): string {
  const kinds = Map.groupBy(events, ({ kind }) => kind)
  return [...kinds].map(([kind, each]) => `${each.length} ${kind}`).join(', ')
}

function seconds(ms: number): number {
  return Math.round(ms / 1000)
}

/** Whatever happened: no process of the soak outlives it. */
async function endAll({ workers, redis, postgres, service }: World): Promise<void> {
  const lives = workers.map(lifeOf).filter((life) => life !== undefined)
  await Promise.all(lives.map((life) => endLife(life, 'killed')))
  redis?.thaw()
  await redis?.kill()
  await postgres?.close()
  await service.close()
}

/** What a soak is doing. Where it does not get on, it ends. */
export type Progress = { doing: (what: string) => void; stop: () => void }

/**
 * Ends a soak that has not ended after `lastMs`: it says what it was doing and what was still open, kills its processes, and exits with 1.
 * The one who waits for its result always gets one.
 */
export function watchProgress(
  { workers, redis, postgres, folder }: Watched,
  { lastMs, seed, say, exit }: { lastMs: number; seed: string; say: (text: string) => void; exit: (code: 1) => void },
): Progress {
  let what = 'starting'
  const timer = setTimeout(() => {
    const open = [...Map.groupBy(process.getActiveResourcesInfo(), (kind) => kind)]
    say(
      `The soak FAILED: it has not ended after ${Math.round(lastMs / 60_000)} minutes, while ${what}. Still open: ` +
        `${open.map(([kind, each]) => `${each.length} ${kind}`).join(', ')}. Seed ${seed}; everything is kept in ${folder}\n`,
    )
    for (const { lives } of workers) for (const life of lives) life.process.kill('SIGKILL')
    const killed = Promise.allSettled([redis?.kill(), postgres?.kill()])
    void Promise.race([killed, new Promise((resolve) => setTimeout(resolve, KILL_MS))]).then(() => exit(1))
  }, lastMs).unref()
  return {
    doing: (now) => {
      what = now
    },
    stop: () => clearTimeout(timer),
  }
}

/** The processes of a soak, and the folder with its files. */
type Watched = {
  workers: readonly { lives: readonly { process: { kill: (signal: 'SIGKILL') => unknown } }[] }[]
  redis: { kill: () => Promise<unknown> } | undefined
  postgres: { kill: () => Promise<unknown> } | undefined
  folder: string
}

const KILL_MS = 2000
