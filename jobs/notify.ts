import { createHmac, hash } from 'node:crypto'
import { UnrecoverableError, type Job } from 'bullmq'
import { z } from 'zod'
import { cancellations } from './cancel.ts'
import { readPauses } from './pauses.ts'
import type { Timings } from './timings.ts'
import { repeatedly } from '../src/machine/timers.ts'
import type { Backend } from './queue/port.ts'
import { failureOf } from './queue/queue-faults.ts'
import { createQueueWorker, handBack, putOff, type Queues } from './queue/queues.ts'
import { dueOutlook, GRACE_MS, type Scheduled, wasReadSince } from './schedule/due-runs.ts'
import { nextDueMs, previousDueMs, type Schedule, startDelayMs } from './schedule/due-times.ts'
import { readWebhookSecret } from '../src/config/credentials.ts'
import type { Config } from '../src/config/read-config.ts'
import { factsOfCode } from '../src/errors/error-facts.ts'
import { describeError } from '../src/errors/errors.ts'
import type { Logger } from '../src/machine/log.ts'
import { PROGRAM_VERSION } from '../src/machine/version.ts'
import { pauseOf } from '../src/model/pause.ts'
import { type Report, toJson } from '../src/model/report.ts'
import type { Mirror } from '../src/store/mirror.ts'
import { count, moment } from '../src/text/wording.ts'
import { isoTime } from '../src/time/moments.ts'

const KINDS = ['notify', 'heartbeat'] as const

/** The report of a night, or its heartbeat: the due time of a rota, in Unix milliseconds. */
const payload = z.object({ kind: z.enum(KINDS), rota: z.string(), dueMs: z.number() })

type Settings = {
  config: { readonly current: Config }
  mirror: Mirror
  queues: Pick<Queues, 'stateOf' | 'notify'>
  backend: Backend
  log: Logger
  timings: Pick<Timings, 'notifyLookMs' | 'notifyPauseMs' | 'leftWaitMs' | 'lockMs' | 'stalledMs'>
  now: () => number
}

type Delivery = Settings & { signal: AbortSignal }

/** With their waits, about half an hour. */
const ATTEMPTS = 8
/** Deliveries under way at the same time: a receiver that does not answer delays no other. */
const AT_ONCE = 10
const DAY_MS = 86_400_000

/** A delivery that ended stays for longer than a year, and with it its name: no night is reported twice. */
const KEPT = { age: 400 * 86_400, count: 10_000 }

/** Every worker puts a job for each night into the queue, which takes each name once; it waits until the night is over, and is tried until taken. */
export function createNotifier(settings: Settings) {
  const { backend, queues, config, timings, now } = settings
  const stopping = new AbortController()
  const asked = new Map<string, number>()
  const backoff = { type: 'exponential', delay: timings.notifyPauseMs, jitter: 0.5 }
  const options = { attempts: ATTEMPTS, backoff, removeOnComplete: KEPT, removeOnFail: KEPT, stackTraceLimit: 0 }
  const looking = repeatedly(timings.notifyLookMs, async () => {
    for (const kind of KINDS.filter((each) => config.current[each] !== undefined))
      for (const line of rotasOf(config.current.organizations)) {
        const dueMs = previousDueMs(line.name, line, now())
        const name = `${kind}.${line.name}`
        // None for years: 0.
        if (dueMs === 0 || asked.get(name) === dueMs) continue
        await queues.notify.add(kind, { kind, rota: line.name, dueMs }, { ...options, jobId: `${name}.${dueMs}` })
        asked.set(name, dueMs)
      }
  })
  const work = (job: Job<unknown, void>) => deliver(job, { ...settings, signal: stopping.signal })
  const how = { concurrency: AT_ONCE, timings, maxStalledCount: ATTEMPTS }
  const worker = createQueueWorker(backend, 'notify', work, how)
  return {
    worker,
    stop: () => {
      looking.stop()
      stopping.abort()
    },
  }
}

async function deliver(job: Job<unknown, void>, settings: Delivery): Promise<void> {
  const { config, mirror, now, log, timings, signal } = settings
  const delay = (waitMs: number) => putOff(job, now() + waitMs)
  const parsed = payload.safeParse(job.data)
  if (!parsed.success) throw new UnrecoverableError('This job names no night. This program did not create it.')
  const { kind, rota: name, dueMs } = parsed.data
  const { organizations: configured, [kind]: target, notify } = config.current
  const rota = rotasOf(configured).find((each) => each.name === name)
  // Another worker may have another configuration.
  if (rota === undefined || target === undefined) return now() - dueMs > DAY_MS ? undefined : delay(timings.leftWaitMs)
  const night = nightAt(rota, dueMs, job.timestamp)
  const standings = await standingsOf(night, settings)
  if (now() < night.lastMs && standings.some(({ ended }) => ended === 'unfinished')) return delay(timings.notifyLookMs)
  const organizations = await lookUpRuns(standings, settings)
  const isWell = organizations.every(wentWell)
  // A heartbeat is for nights that went well, while the other organizations are well too: their nights have the same dead-man switch.
  const isWanted =
    kind === 'notify' ? !isWell || notify?.only !== 'failures' : isWell && !(await isAnyBehind(configured, settings))
  if (!isWanted) return
  const id = hash('sha256', `${await mirror.identity()} ${job.id}`).slice(0, 32)
  const report =
    notify?.format === 'slack' ? { text: nightText(night, organizations) } : reportNight(night, organizations, now())
  const message = { id, body: JSON.stringify(report) }
  const { isTaken, answer } = await (target === notify ? post(notify, message, settings) : send(target.url, { signal }))
  if (signal.aborted && !isTaken) return handBack(job)
  const attempts = job.attemptsMade + 1
  const facts = { kind, dueAt: isoTime(dueMs), attempts, answer }
  if (isTaken) return log.info(facts, 'night reported')
  if (attempts >= ATTEMPTS) log.error(facts, 'night not reported, given up')
  else log.warn(facts, 'night not reported, another attempt follows')
  throw new Error(answer)
}

async function post({ url, secret }: NonNullable<Config['notify']>, message: Message, { now, signal }: Delivery) {
  try {
    const key = secret && (await readWebhookSecret(secret))
    const own = webhookHeaders(message, Math.floor(now() / 1000), key)
    return await send(url, { body: message.body, headers: { 'content-type': 'application/json', ...own }, signal })
  } catch (error) {
    return { isTaken: false, answer: describeError(error).message }
  }
}

type Message = { id: string; body: string }

/** The headers of https://www.standardwebhooks.com. The id stays the same when a message is sent again, the time does not. */
export function webhookHeaders({ id, body }: Message, unixSeconds: number, secret?: string): Record<string, string> {
  const headers = { 'webhook-id': id, 'webhook-timestamp': String(unixSeconds) }
  if (secret === undefined) return headers
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
  const signature = createHmac('sha256', key).update(`${id}.${unixSeconds}.${body}`).digest('base64')
  return { ...headers, 'webhook-signature': `v1,${signature}` }
}

type Sending = { body?: string; headers?: Record<string, string>; signal: AbortSignal }

const TIMEOUT_MS = 15_000

/** Sends one request, follows no redirect, and reads only the status. Never throws. The answer may be logged: no address, which may hold a token. */
export async function send(url: URL, { body, headers, signal }: Sending) {
  try {
    const response = await fetch(url, {
      ...(body !== undefined && { method: 'POST', body }),
      headers: { 'user-agent': `customer-mirror/${PROGRAM_VERSION}`, ...headers },
      ...{ redirect: 'manual', signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]) },
    })
    await response.body?.cancel()
    return { isTaken: response.ok, answer: `status ${response.status}` }
  } catch (error) {
    const { name, cause } = error instanceof Error ? error : new Error()
    if (name === 'TimeoutError') return { isTaken: false, answer: `no answer within ${TIMEOUT_MS / 1000} s` }
    return { isTaken: false, answer: failureOf(cause ?? error).code }
  }
}

/** The organizations that are due by the same cron line in the same time zone, under a name for their jobs. */
export function rotasOf(organizations: readonly { id: string; schedule: Schedule | undefined }[]) {
  const scheduled = organizations.flatMap(({ id, schedule }) => (schedule === undefined ? [] : [{ id, schedule }]))
  const byLine = Map.groupBy(scheduled, ({ schedule: { cron, timezone } }) => `${cron}\n${timezone}`)
  return [...byLine].map(([line, members]) => {
    const [cron = '', timezone = ''] = line.split('\n')
    return { name: hash('sha256', line).slice(0, 12), cron, timezone, spreadMs: 0, organizations: members }
  })
}

type Rota = ReturnType<typeof rotasOf>[number]

/** One due time of a rota, with the moment at which each organization is due, its spread included. */
type Night = ReturnType<typeof nightAt>

/** It ends two hours after the last organization is due, or a worker first saw it, or when the next night begins. */
export function nightAt(rota: Rota, dueMs: number, seenMs: number) {
  const { name, cron, timezone, organizations } = rota
  const due = organizations.map(({ id, schedule }) => ({ id, dueMs: dueMs + startDelayMs(id, schedule) }))
  const spreadMs = Math.max(0, ...due.map((each) => each.dueMs - dueMs))
  const lastMs = spreadMs + Math.min(nextDueMs(name, rota, dueMs), Math.max(dueMs, seenMs) + GRACE_MS)
  return { cron, timezone, dueMs, organizations: due, lastMs }
}

type Sources = Pick<Settings, 'mirror' | 'queues' | 'backend' | 'now'>

/** How an organization stands in a night, with the moment at which it was due. `unfinished`: its run is still to come, or to end. */
export type InNight = { organization: string; dueMs: number; ended: 'complete' | 'failed' | 'unfinished' }

/** How every organization of a night stands. One that is paused until the night is over gets no run from a job that waits. */
export async function standingsOf({ organizations, lastMs }: Night, sources: Sources): Promise<InNight[]> {
  const { mirror, queues, backend, now } = sources
  const lastRuns = new Map((await mirror.listLastRuns()).map((run) => [run.organization, run]))
  const [cancelled, pauses] = [await cancellations.list(backend.values), await readPauses(backend.values)]
  return Promise.all(
    organizations.map(async ({ id, dueMs }) => {
      const lastRun = lastRuns.get(id)
      if (wasReadSince(dueMs, lastRun, now())) return { organization: id, dueMs, ended: 'complete' }
      const paused = pauseOf(pauses, id, now())
      const isPaused = paused !== undefined && (paused.untilMs ?? Infinity) >= lastMs
      const isCalledOff = isPaused || (cancelled.get(id)?.untilMs ?? 0) >= dueMs
      const hasFailed = lastRun?.status === 'failed' && lastRun.startedAtMs >= dueMs
      const state = await queues.stateOf('sync', id)
      // While it has a job, a failed run is tried again.
      const hasJob = state !== undefined && !(isPaused && state === 'delayed')
      return { organization: id, dueMs, ended: (hasFailed || isCalledOff) && !hasJob ? 'failed' : 'unfinished' }
    }),
  )
}

/** How an organization ended in a night, the run that says so, and how many of its removals wait for a decision. */
export type Ended = Pick<InNight, 'organization' | 'ended'> & { run: Report | undefined; heldRemovals: number }

async function lookUpRuns(standings: readonly InNight[], { mirror }: Sources): Promise<Ended[]> {
  const ids = standings.map(({ organization }) => organization)
  const latest = Map.groupBy(await mirror.listLatestRuns({ organizations: ids, limit: 5 }), (run) => run.organization)
  const held = Map.groupBy(await mirror.listHeldRemovals(), (each) => each.organization)
  return Array.fromAsync(standings, async ({ organization, dueMs, ended }) => {
    const meant = latest
      .get(organization)
      ?.findLast(({ status, startedAtMs }) => (ended === 'complete' ? status === 'complete' : startedAtMs >= dueMs))
    const heldRemovals = (held.get(organization) ?? []).reduce((sum, each) => sum + each.held, 0)
    return { organization, ended, run: meant && (await mirror.findRun(meant.runId)), heldRemovals }
  })
}

/** Whether an organization of any night failed when it was last read, or is late. */
async function isAnyBehind(organizations: readonly Scheduled[], { mirror, now }: Sources): Promise<boolean> {
  const lastRuns = new Map((await mirror.listLastRuns()).map((run) => [run.organization, run]))
  return organizations.some((organization) => {
    const lastRun = lastRuns.get(organization.id)
    const hasFailed = organization.schedule !== undefined && lastRun?.status === 'failed'
    return hasFailed || dueOutlook(organization, lastRun, { nowMs: now() })?.isLate === true
  })
}

/** Whether an organization was read to its end, its data has the fields that it had, and nothing waits for a person to decide. */
function wentWell({ ended, run, heldRemovals }: Pick<Ended, 'ended' | 'run' | 'heldRemovals'>): boolean {
  return ended === 'complete' && run?.reasons.includes('shape-changed') !== true && heldRemovals === 0
}

/** The report of a night: ids, counts, codes and times. Its keys are a contract: later versions only add some. */
function reportNight({ cron, timezone, dueMs }: Night, organizations: readonly Ended[], nowMs: number): object {
  const outcomes = organizations.map(({ ended, run }) => {
    return ended !== 'complete' && run === undefined ? 'not-started' : ended
  })
  const having = (outcome: (typeof outcomes)[number]) => outcomes.filter((one) => one === outcome).length
  const sum = (name: (typeof SUMS)[number]) => organizations.reduce((total, { run }) => total + (run?.[name] ?? 0), 0)
  return {
    type: 'night.ended',
    timestamp: isoTime(nowMs),
    data: {
      version: 1,
      dueAt: isoTime(dueMs),
      ...{ cron, timezone },
      wentWell: organizations.every(wentWell),
      totals: {
        ...{ organizations: organizations.length, complete: having('complete'), failed: having('failed') },
        ...{ unfinished: having('unfinished'), notStarted: having('not-started') },
        ...Object.fromEntries(SUMS.map((name) => [name, sum(name)])),
      },
      organizations: organizations.map(({ organization, heldRemovals, run }, index) => ({
        ...{ organization, outcome: outcomes[index], heldRemovals },
        run: run === undefined ? null : runOf(run),
      })),
    },
  }
}

const SUMS = ['inserted', 'updated', 'removed', 'returned', 'rejected'] as const

/** As `sync --json` prints it, with the title of an error, whose message may quote the service, and without ids of customers. */
function runOf(run: Report): object {
  const { code } = run.error ?? {}
  const error = code === undefined ? null : { code, title: factsOfCode(code).title }
  return { ...toJson(run), pruned: undefined, certificate: undefined, error }
}

/** A night as a message of a chat: who needs a person first, a sentence for each organization with the command to run. */
export function nightText({ dueMs }: Pick<Night, 'dueMs'>, organizations: readonly Ended[]): string {
  const [well, others] = [organizations.filter(wentWell), organizations.filter((each) => !wentWell(each))]
  const head =
    others.length === 0
      ? `went well for ${count(well.length, 'organization')}`
      : `${others.length} of ${count(organizations.length, 'organization')} did not go well`
  return [`Customer Mirror, night of ${moment(dueMs)}: ${head}.`, ...[...others, ...well].map(sentenceOf)].join('\n')
}

function sentenceOf({ organization, ended, run, heldRemovals }: Ended): string {
  const details = run === undefined ? '' : ` To see more: \`customer-mirror runs show ${run.runId ?? ''}\``
  if (heldRemovals > 0) {
    const held = `${count(heldRemovals, 'removal')} ${heldRemovals === 1 ? 'waits' : 'wait'} for a decision`
    return `• ${organization}: ${held}. Who they are: \`customer-mirror removals show ${organization}\``
  }
  if (run?.reasons.includes('shape-changed') === true)
    return `• ${organization}: fields of many customers have changed, and what is stored is kept.${details}`
  if (ended === 'complete' && run !== undefined)
    return `• ${organization}: complete and ${run.proof}: ${run.inserted} new, ${run.updated} changed, ${run.removed} removed.`
  if (run?.error !== undefined)
    return `• ${organization}: failed: ${factsOfCode(run.error.code).title} (${run.error.code}).${details}`
  return `• ${organization}: ${ended === 'complete' ? 'complete' : 'was not read to its end'}.${details || ' To see why: `customer-mirror status`'}`
}
