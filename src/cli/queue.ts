import { configOption, linesOf, moment, say, second, show, type Table } from './output/print.ts'
import { argument, command, type Io, jsonCommand, momentIn, oneExitCode, wholeNumber } from './command.ts'
import { CLOCKS, listUnderway, namedConfig } from './opening.ts'
import { chooseIds } from '../config/organization.ts'
import { requireKnown } from '../config/suggestion.ts'
import { UsageError } from '../errors/errors.ts'
import { processWords } from '../machine/process-name.ts'
import { ALL, isPaused, pauseOf } from '../model/pause.ts'
import { waitWords } from '../status/sentences.ts'
import { isOfService, progressOf } from '../status/standing.ts'
import { isoTime } from '../time/moments.ts'
import { pauseAsJson, pausedLines } from './status.ts'

export function queueCommand(io: Io) {
  return jsonCommand('queue', {
    about: 'Percents are known where the mirror is on this machine. Times are in UTC.',
    queue: 'the runs under way, those that wait for a worker, and those that are delayed with the reason',
  })
    .option('--release', 'first let the queue have another mirror, where its own is gone for good')
    .action(async ({ config: file, json, release }) => {
      const config = await namedConfig(file)
      const { listJobs } = await import('../../jobs/commands.ts')
      if (release) {
        const had = await (await import('../../jobs/queue/backend.ts')).releaseQueue(config)
        say(io.stderr, had === undefined ? 'The queue had no mirror.\n' : `The queue is free of its mirror ${had}.\n`)
      }
      const nowMs = Date.now()
      const { place, jobs, pauses } = await listJobs(config)
      const underway = new Map((await listUnderway(config)).map((run) => [run.organization, run]))
      const lines = jobs.map((job) => {
        const run = job.state === 'running' && job.kind === 'full' ? underway.get(job.organization) : undefined
        return { ...job, percent: run && progressOf(run, nowMs).percent }
      })
      // A pause holds of an organization, or of all but those that were resumed.
      const ids = config.organizations.map(({ id }) => id)
      const others = ids.filter((id) => pauseOf(pauses, id, nowMs) === undefined)
      const paused = [...pauses].flatMap(([name, pause]) => {
        if (!isPaused(pause, nowMs)) return []
        const [organization, resumed] = name === ALL ? [undefined, others] : [name, []]
        return { organization, paused: pause, resumed }
      })
      const pausedAsJson = paused.map(({ paused: pause, ...of }) => ({ ...of, ...pauseAsJson(pause) }))
      const document = { queue: place, jobs: lines.map(jobAsJson), paused: pausedAsJson }
      const rows = lines.map((line) => {
        const state = line.percent === undefined ? line.state : `${line.state} ${line.percent} %`
        return [line.organization, line.kind, state, whenWords(line), noteWords(line, nowMs)]
      })
      const table = { head: HEAD, rows, none: 'Nothing runs, and nothing waits in the queue.\n' }
      show(io, json, { document, table, text: pausedLines(paused, file) })
    })
}

type Listed = Awaited<ReturnType<typeof import('../../jobs/commands.ts').listJobs>>
type Line = Listed['jobs'][number] & { percent: number | undefined }

function jobAsJson({ sinceMs, wait, worker, percent, ...same }: Line) {
  const { untilMs, why, status, attempt } = wait ?? {}
  const [machine = '', id = ''] = worker?.split('#') ?? []
  const place = worker && { host: machine.split('/')[0], process: Number(id) }
  return { ...same, since: isoTime(sinceMs), until: isoTime(untilMs), why, status, attempt, percent, worker: place }
}

const HEAD = ['organization', 'run', 'state', 'when (UTC)', '']

function whenWords({ state, sinceMs, wait }: Line): string {
  if (state !== 'delayed') return `since ${second(sinceMs)}`
  return wait?.untilMs === undefined ? '' : `until ${second(wait.untilMs)}`
}

function noteWords({ state, worker, wait, failures, error }: Line, nowMs: number): string {
  const by = state === 'running' && worker !== undefined ? [processWords(worker)] : []
  if (isOfService(wait)) return [`the ${waitWords(wait, nowMs)}`, ...by].join(', ')
  if (state === 'running') return by.join('')
  if (state === 'waiting') return 'waits for a worker'
  return failures > 0 ? `next attempt, ${failures} failed (${error})` : 'next attempt'
}

export function pauseCommand(io: Io) {
  return command('pause', {
    about:
      "Every worker of the queue sees it within seconds. A run under way ends normally; no other one starts, neither by the schedule nor by 'customer-mirror run'. When the pause ends, a run that was missed is made up for once. 'customer-mirror sync' needs no queue, and is not paused.",
    'pause acme --until "2026-12-24 06:00"': "the service is being maintained until six o'clock UTC",
    pause: "all organizations, until 'customer-mirror resume'",
  })
    .argument('[organization...]', 'ids of organizations')
    .option('--until <time>', 'end the pause by itself at this time', UNTIL)
    .action(async (ids, { config: file, until: untilMs }) => {
      const nowMs = Date.now()
      if (untilMs !== undefined && untilMs <= nowMs)
        throw new UsageError(`--until ${moment(untilMs)} has passed, so nothing was paused. Name a time in the future.`)
      const config = await namedConfig(file)
      const { changePauses } = await import('../../jobs/commands.ts')
      const paused = await changePauses(config, chooseIds(config, ids), { pause: { nowMs, untilMs } })
      const lines = paused.map(({ name, before, now }) => {
        const already = before === undefined ? '' : `already, since ${moment(before.sinceMs)}; now `
        const words = now?.untilMs === undefined ? 'until resumed' : `until ${moment(now.untilMs)}`
        return `${subject(name)} paused ${already}${words}`
      })
      say(io.stdout, linesOf(lines))
    })
}

const UNTIL = argument(
  momentIn,
  'a time, in UTC unless it names its zone: 2026-03-01, "2026-03-01 14:30", 2026-03-01T14:30:00+01:00',
)

export function resumeCommand(io: Io) {
  return command('resume', {
    about:
      'A run that was missed meanwhile is made up for at once, one for each organization. An organization that is named is resumed although all of them are paused; the others stay so.',
    'resume acme': '',
    resume: 'every pause, also those of single organizations',
  })
    .argument('[organization...]', 'ids of organizations')
    .action(async (ids, { config: file }) => {
      const config = await namedConfig(file)
      const { changePauses } = await import('../../jobs/commands.ts')
      const changed = await changePauses(config, chooseIds(config, ids), { resumeMs: Date.now() })
      const lines = changed.map(({ name, before }) => {
        if (before !== undefined) return `${subject(name)} resumed, paused since ${moment(before.sinceMs)}`
        return name !== ALL && `${subject(name)} was not paused`
      })
      say(io.stdout, linesOf(lines) || 'Nothing was paused.\n')
    })
}

const subject = (name: string) => (name === ALL ? 'all organizations:' : `${name}:`)

export function scheduleCommand(io: Io) {
  return jsonCommand('schedule', {
    schedule: 'the next five runs of each organization, and its next five quick runs, in local time and in UTC',
  })
    .option('--next <number>', 'how many runs of each', wholeNumber({ least: 1, most: 366 }), 5)
    .action(async ({ config: file, next, json }) => {
      const config = await namedConfig(file)
      const { listSchedule } = await import('../../jobs/commands.ts')
      const warn = (text: string) => say(io.stderr, text)
      const lines = await listSchedule(config, warn, { nowMs: Date.now(), count: next })
      const document = { organizations: lines.map(scheduleAsJson) }
      show(io, json, { document, table: scheduleTable(lines), text: pausedLines(lines, file) })
    })
}

type ScheduleLine = Awaited<ReturnType<typeof import('../../jobs/commands.ts').listSchedule>>[number]

function scheduleAsJson({ paused, runs, between, ...same }: ScheduleLine) {
  const asJson = (moments: ScheduleLine['runs']) => moments.map(({ atMs, ...of }) => ({ at: isoTime(atMs), ...of }))
  const quick = between && { cron: between.cron, runs: asJson(between.runs) }
  return { ...same, paused: pauseAsJson(paused), runs: asJson(runs), quick }
}

function scheduleTable(lines: readonly ScheduleLine[]): Table {
  const rows = lines.flatMap(({ organization, timezone, dueNow, paused, runs, between }) => {
    const due = timezone === undefined ? 'no schedule' : paused !== undefined ? 'paused' : dueNow ? 'yes' : 'no'
    const rowsOf = (kind: string, moments: ScheduleLine['runs']) =>
      moments.map(({ atMs, local }, index) => [index === 0 ? kind : '', local, moment(atMs), timezone ?? ''])
    const all = [...rowsOf('full', runs), ...rowsOf('quick', between?.runs ?? [])]
    const [first = ['–', '–', '–', timezone ?? '–'], ...others] = all
    return [[organization, due, ...first], ...others.map((cells) => ['', '', ...cells])]
  })
  return { head: ['organization', 'due now', 'run', 'next', 'UTC', 'time zone'], rows }
}

export function runCommand(io: Io) {
  return command('run', {
    about:
      "A worker that uses the same queue takes the job; 'customer-mirror runs' shows the result, and 'customer-mirror cancel' ends it. A job that waits for its next attempt starts at once, unless the service said when.",
    'run acme': '',
    'run acme globex --config /etc/customer-mirror.yaml': '',
    'run acme --quick': 'who came and who left since the list was last read, in a few requests',
  })
    .argument('<organization...>', 'ids of organizations')
    .option('--quick', 'ask for a quick run: who came and who left, in a few requests')
    .action(async (ids, { config: file, quick = false }) => {
      const config = await namedConfig(file)
      const chosen = chooseIds(config, ids)
      const { requestRuns } = await import('../../jobs/commands.ts')
      const requested = await requestRuns(config, chosen, quick ? 'quick' : 'sync', Date.now())
      const lines = requested.map((run) => `${run.organization}: ${requestedWords(run, quick, configOption(file))}`)
      say(io.stdout, linesOf(lines))
      // A service said when to ask again, or the organization is paused.
      io.exitWith(requested.some(({ untilMs, state }) => untilMs !== undefined || state === 'paused') ? 5 : 0)
    })
}

function requestedWords({ organization, state, untilMs }: Requested, quick: boolean, option: string): string {
  const until = untilMs === undefined ? '' : ` until ${moment(untilMs)}`
  if (state === 'paused')
    return `is paused${until}; nothing was requested. First: customer-mirror resume ${organization}${option}`
  if (state === 'added') return quick ? 'quick run queued' : 'queued'
  if (untilMs === undefined) return STATES[state] ?? `has a job already (${state})`
  return `has a job that starts by itself at ${second(Math.ceil(untilMs / 1000) * 1000)} UTC: until then, its service asked to wait. Nothing was changed`
}

type Requested = import('../../jobs/commands.ts').RequestedRun

const STATES: Readonly<Record<string, string>> = {
  active: 'has a run at this moment',
  waiting: 'is queued already',
  started: 'has a job that waited; it starts now',
  ended: 'had a job that ended just now; ask again for another run',
  'full-run': 'its whole list is being read, or is about to be; no quick run was added',
}

export function cancelCommand(io: Io) {
  return command('cancel', {
    about:
      "The run ends as failed, with the error code cancelled. It is not retried: the next run is that of its schedule, or of 'customer-mirror run'. A job that waits in the queue is taken out of it.",
    'cancel acme': '',
    'cancel acme globex': '',
  })
    .argument('<organization...>', 'ids of organizations')
    .action(async (ids, { config: file }) => {
      const config = await namedConfig(file)
      // A worker looks every second, and gives the pages under way five seconds; saving the last of a large list takes some more.
      const waiting = { ...CLOCKS, longestMs: 30_000, signal: io.signal }
      const { cancelRuns } = await import('../../jobs/cancel.ts')
      // One that left the configuration may still be read.
      const others = (await listUnderway(config)).map(({ organization }) => organization)
      requireKnown(ids, [...config.organizations.map(({ id }) => id), ...others])
      const cancelled = await cancelRuns(config, [...new Set(ids)], waiting)
      const underway = await listUnderway(config)
      const codes = cancelled.map(({ organization, end }) => {
        // A run that goes on is made by no worker of this queue.
        const isEnding = end === 'ended' || end === 'unanswered'
        const elsewhere = underway.find((run) => !isEnding && run.organization === organization)
        const runs = `runs ${organization}${configOption(file)}`
        const before = end === 'removed' ? 'its job was taken out of the queue, but ' : ''
        const words = elsewhere
          ? `${before}run ${elsewhere.runId} is under way in ${processWords(elsewhere.holder)}, and is no job of a shared queue. Ctrl-C there ends it.`
          : ENDS[end].replace('<runs>', runs)
        say(io.stdout, `${organization}: ${words}\n`)
        return elsewhere !== undefined ? 6 : end === 'unanswered' ? 5 : 0
      })
      io.exitWith(oneExitCode(codes))
    })
}

type Cancelled = Awaited<ReturnType<typeof import('../../jobs/cancel.ts').cancelRuns>>[number]

const ENDS: Readonly<Record<Cancelled['end'], string>> = {
  ended:
    'cancelled. Its run ended after its current pages; what it read is saved, and the next run goes on from there.',
  removed: 'cancelled. Its job was taken out of the queue; what was read before is saved.',
  'was-over': "its run had ended before it could be cancelled: 'customer-mirror <runs>' shows it.",
  nothing: 'nothing is under way, and nothing waits in the queue.',
  unanswered:
    "asked to end; its worker has not ended it yet, and does once it sees this: 'customer-mirror <runs>' shows it.",
}
