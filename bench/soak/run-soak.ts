import { randomInt } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { watchHealth } from './checks.ts'
import { inspect } from './inspect.ts'
import { planEvents, type SoakEvent } from './plan.ts'
import { changeLists, comeToRest, keepWorkers, playEvents, stopWorkers } from './play.ts'
import { endLife, lifeOf } from './worker-process.ts'
import { createWorld, isWell, readOptions, SOAK_HELP, type SoakOptions, startWorkers, type World } from './world.ts'

type Writer = { write(text: string): unknown }
export type Output = { stdout: Writer; stderr: Writer; signal: AbortSignal }

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
  let isRight = false
  try {
    const { findings, result } = await playAndInspect(world, options, output)
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
    await endAll(world)
    if ((isRight || output.signal.aborted) && !options.keep) rmSync(folder, { recursive: true, force: true })
  }
}

const MOST_SHOWN = 30
async function playAndInspect(world: World, options: SoakOptions, { stderr, signal }: Output) {
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
    stderr.write(`${seconds(atMs)} s: ${kind} ${target} for ${seconds(untilMs - atMs)} s\n`)
  }
  await startWorkers(world, signal)
  const kept = keepWorkers(world, AbortSignal.any([signal, keeping.signal]))
  const changing = changeLists(world, options.seed, quiet)
  await playEvents(world, events, { signal, say })
  resting.abort()
  await changing
  stderr.write('coming to rest\n')
  const restless = await comeToRest(world, { wellFor: health.wellFor, signal })
  const endMs = world.now()
  health.stop()
  keeping.abort()
  await kept
  stderr.write('stopping its workers\n')
  await stopWorkers(world)
  stderr.write('comparing mirrors\n')
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
