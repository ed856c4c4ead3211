import { command, JSON_OPTION, listUnderway, namedConfig, show } from './command.ts'
import { type Io, type Screen, screenOf } from './io.ts'
import { configOption } from './output/say.ts'
import { renderTable } from './output/table.ts'
import type { Config } from '../config/read-config.ts'
import { processWords } from '../machine/process-name.ts'
import { ALL, isPaused, type Pause, pauseOf, type Pauses } from '../model/pause.ts'
import { waitWords } from '../status/sentences.ts'
import { isOfService } from '../status/standing.ts'
import { plainText } from '../text/plain-text.ts'
import { listedNames, moment, second } from '../text/wording.ts'
import { isoTime } from '../time/moments.ts'

/** `customer-mirror queue`: shows what runs, waits and is delayed. */
export function queueCommand(io: Io) {
  return command('queue', 'show which runs are under way, wait or are delayed, and why', EXAMPLES)
    .option(...JSON_OPTION)
    .option('--release', 'first let the queue have another mirror, where its own is gone for good')
    .action(async ({ config: file, json, release }) => {
      const config = await namedConfig(file)
      const { listJobs, releaseMirror } = await import('../../jobs/commands/listed-queue.ts')
      if (release) await releaseMirror(config)
      const nowMs = Date.now()
      const { place, jobs, pauses } = await listJobs(config)
      const percents = await findPercents(config, nowMs)
      const lines = jobs.map((job) => ({
        ...job,
        percent: job.state === 'running' && job.kind === 'sync' ? percents.get(job.organization) : undefined,
      }))
      const paused = pausedIn(pauses, config.organizations, nowMs)
      show(io, json, {
        document: { queue: place, jobs: lines.map(jobAsJson), paused: paused.map(pauseAsJson) },
        table: queueText({ lines, paused }, { nowMs, screen: screenOf(io.stdout), config: file }),
      })
    })
}

/** How far the runs under way are, by organization, as far as the mirror on this machine knows. */
async function findPercents(config: Config, nowMs: number): Promise<Map<string, number | undefined>> {
  const { progressOf } = await import('../status/standing.ts')
  return new Map((await listUnderway(config)).map((run) => [run.organization, progressOf(run, nowMs).percent]))
}

type ListedJob = import('../../jobs/commands/listed-queue.ts').ListedQueue['jobs'][number]
type Paused = Pause & {
  name: string
  /** The organizations that were resumed although all are paused. */
  resumed: string[]
}

/** The pauses that hold now, of all organizations and of single ones. */
function pausedIn(pauses: Pauses, organizations: Config['organizations'], nowMs: number): Paused[] {
  const resumed = organizations.map(({ id }) => id).filter((id) => pauseOf(pauses, id, nowMs) === undefined)
  return [...pauses].flatMap(([name, stated]) =>
    isPaused(stated, nowMs) ? [{ ...stated, name, resumed: name === ALL ? resumed : [] }] : [],
  )
}

function jobAsJson({ sinceMs, wait, kind, worker, percent, ...same }: ListedJob & { percent: number | undefined }) {
  const [machine = '', id = ''] = worker?.split('#') ?? []
  return {
    organization: same.organization,
    kind: KINDS[kind],
    state: same.state,
    trigger: same.trigger,
    since: isoTime(sinceMs),
    until: isoTime(wait?.untilMs),
    why: wait?.why ?? null,
    status: wait?.status ?? null,
    attempt: wait?.attempt ?? null,
    failures: same.failures,
    percent: percent ?? null,
    worker: worker === undefined ? null : { host: machine.split('/')[0], process: Number(id) },
  }
}

function pauseAsJson({ name, sinceMs, untilMs, resumed }: Paused) {
  return { organization: name === ALL ? null : name, since: isoTime(sinceMs), until: isoTime(untilMs), resumed }
}

const KINDS = { sync: 'full', quick: 'quick' } as const

const EXAMPLES = `
Percents are known where the mirror is on this machine. Times are in UTC.

Examples:
  $ customer-mirror queue
      the runs under way, those that wait for a worker, and those that are delayed with the reason
  $ customer-mirror queue --json
`

type Line = ListedJob & { percent: number | undefined }
type ShownPause = Pick<Paused, 'name' | 'untilMs' | 'resumed'>

/** The jobs of a queue as a table, and its pauses below. */
export function queueText(
  { lines, paused }: { lines: readonly Line[]; paused: readonly ShownPause[] },
  { nowMs, screen, config }: { nowMs: number; screen: Screen | undefined; config?: string | undefined },
): string {
  const table =
    lines.length === 0
      ? 'Nothing runs, and nothing waits in the queue.\n'
      : renderTable(
          ['organization', 'run', 'state', 'when (UTC)', ''],
          lines.map((line) => [
            plainText(line.organization),
            KINDS[line.kind],
            line.percent === undefined ? line.state : `${line.state} ${line.percent} %`,
            whenWords(line, nowMs),
            noteWords(line, nowMs),
          ]),
          screen,
        )
  return table + paused.map((each) => pausedLine(each, configOption(config))).join('')
}

function whenWords({ state, sinceMs, wait }: Line, nowMs: number): string {
  if (state !== 'delayed') return `since ${shortTime(sinceMs, nowMs)}`
  const untilMs = wait?.untilMs
  return untilMs === undefined ? '' : `until ${shortTime(untilMs, nowMs)}`
}

/** Without the date on the same day. */
function shortTime(atMs: number, nowMs: number): string {
  const [at, now] = [second(atMs), second(nowMs)]
  return at.slice(0, 10) === now.slice(0, 10) ? at.slice(11) : at.slice(0, 16)
}

function noteWords({ state, worker, wait, failures }: Line, nowMs: number): string {
  if (state === 'delayed' && wait?.why === 'pause') return 'paused'
  const by = state === 'running' && worker !== undefined ? [processWords(worker)] : []
  if (isOfService(wait)) return [`the ${waitWords(wait, nowMs)}`, ...by].join(', ')
  if (state === 'running') return by.join('')
  if (state === 'waiting') return 'waits for a worker'
  return failures > 0 ? `next attempt, ${failures} failed` : 'next attempt'
}

function pausedLine({ name, untilMs, resumed }: ShownPause, option: string): string {
  const until = untilMs === undefined ? 'until resumed' : `until ${moment(untilMs)}`
  const others = resumed.length === 0 ? '' : ` but ${listedNames(resumed)}`
  return name === ALL
    ? `all organizations${others}: paused ${until}: customer-mirror resume${option}\n`
    : `${name}: paused ${until}: customer-mirror resume ${name}${option}\n`
}
