import { configOption, moment, say, second } from './output/print.ts'
import { command, type Io, oneOf, port } from './command.ts'
import { listUnderway, namedConfig } from './opening.ts'
import { chooseIds } from '../config/organization.ts'
import { UsageError } from '../errors/errors.ts'
import { processWords } from '../machine/process-name.ts'
import { monotonicMs } from '../machine/timers.ts'
import type { LeasedRun } from '../model/report.ts'
import { type ExitCode, oneExitCode } from './exit-code.ts'

/** `customer-mirror worker`: mirrors every organization on its schedule, until it is stopped. */
export function workerCommand(io: Io) {
  return command('worker', {
    about: 'The worker serves a page to look at, /healthz, /readyz and /metrics.',
    worker: 'run with the queue of the configuration; several workers may run at the same time',
    'worker --host 0.0.0.0 --allow-host worker.internal': 'let others reach it, also by this name',
    'worker --embedded': 'with no server installed',
  })
    .option('--embedded', 'keep the queue in a folder beside the mirror, for a single worker')
    .option('--host <address>', 'address to serve the page, /healthz, /readyz and /metrics at', '127.0.0.1')
    .option('--port <number>', 'port to serve them at; 0 takes any free one', port, 4011)
    .option('--allow-host <name...>', 'more names under which clients may ask, besides addresses and localhost')
    .option('--log-level <level>', 'what to log', oneOf('debug', 'info', 'warn', 'error'), 'info')
    .action(async ({ config: file, embedded = false, host, port: at, allowHost, logLevel }) => {
      const odd = allowHost?.find((name) => !HOST_NAME.test(name))
      if (odd !== undefined)
        throw new UsageError(`--allow-host ${odd}: this is no name of a host. Write it without a port.`)
      const { runWorker } = await import('../../jobs/worker.ts')
      const http = { host, port: at, names: allowHost ?? [] }
      // The file is read anyway when it changes: SIGHUP only must not end the process.
      io.ignoreHangUp?.()
      await runWorker({ config: file, embedded, http, logLevel }, io).finally(() => io.endSoon?.())
    })
}

const HOST_NAME = /^[A-Za-z0-9_]([A-Za-z0-9._-]*[A-Za-z0-9_])?$/

/** `customer-mirror run`: asks the worker for a run now. */
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
      const requested = await requestRuns(config, chosen, { kind: quick ? 'quick' : 'sync', nowMs: Date.now() })
      say(io.stdout, requested.map((run) => requestedText(run, quick, configOption(file))).join(''))
      // A service said when to ask again, or the organization is paused.
      io.exitWith(requested.some(({ untilMs, state }) => untilMs !== undefined || state === 'paused') ? 5 : 0)
    })
}

/** Whether a job was added, or which one there is. */
function requestedText(
  { organization, added, state, untilMs }: import('../../jobs/commands.ts').RequestedRun,
  quick: boolean,
  option: string,
): string {
  const until = untilMs === undefined ? '' : ` until ${moment(untilMs)}`
  if (state === 'paused')
    return `${organization}: is paused${until}; nothing was requested. First: customer-mirror resume ${organization}${option}\n`
  if (added) return `${organization}: ${quick ? 'quick run ' : ''}queued\n`
  const words = STATES[state] ?? `has a job already (${state})`
  if (untilMs === undefined) return `${organization}: ${words}\n`
  return `${organization}: has a job that starts by itself at ${second(Math.ceil(untilMs / 1000) * 1000)} UTC: until then, its service asked to wait. Nothing was changed\n`
}

const STATES: Readonly<Record<string, string>> = {
  active: 'has a run at this moment',
  waiting: 'is queued already',
  started: 'has a job that waited; it starts now',
  ended: 'had a job that ended just now; ask again for another run',
  'full-run': 'its whole list is being read, or is about to be; no quick run was added',
}

/** `customer-mirror cancel`: ends the run of an organization after its current pages. */
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
      const waiting = { now: Date.now, monotonicMs, longestMs: LONGEST_MS, signal: io.signal }
      const { cancelRuns } = await import('../../jobs/cancel.ts')
      const cancelled = await cancelRuns(config, chooseIds(config, ids), waiting)
      const underway = await listUnderway(config)
      const codes = cancelled.map(({ organization, end }): ExitCode => {
        // A run that goes on is made by no worker of this queue.
        const isEnding = end === 'ended' || end === 'unanswered'
        const elsewhere = underway.find((run) => !isEnding && run.organization === organization)
        const runs = `runs ${organization}${configOption(file)}`
        const words = elsewhere ? elsewhereWords(elsewhere, end === 'removed') : ENDS[end].replace('<runs>', runs)
        say(io.stdout, `${organization}: ${words}\n`)
        return elsewhere !== undefined ? 6 : end === 'unanswered' ? 5 : 0
      })
      io.exitWith(oneExitCode(codes))
    })
}

/** A worker looks every second, and gives the pages under way five seconds; saving the last of a large list takes some more. */
const LONGEST_MS = 30_000

function elsewhereWords({ runId, holder }: LeasedRun, isRemoved: boolean): string {
  const before = isRemoved ? 'its job was taken out of the queue, but ' : ''
  return `${before}run ${runId} is under way in ${processWords(holder)}, and is no job of a shared queue. Ctrl-C there ends it.`
}

const ENDS: Readonly<Record<import('../../jobs/cancel.ts').CancelEnd, string>> = {
  ended:
    'cancelled. Its run ended after its current pages; what it read is saved, and the next run goes on from there.',
  removed: 'cancelled. Its job was taken out of the queue; what was read before is saved.',
  'was-over': "its run had ended before it could be cancelled: 'customer-mirror <runs>' shows it.",
  nothing: 'nothing is under way, and nothing waits in the queue.',
  unanswered:
    "asked to end; its worker has not ended it yet, and does once it sees this: 'customer-mirror <runs>' shows it.",
}
