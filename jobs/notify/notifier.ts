import { createHmac, hash } from 'node:crypto'
import { DelayedError, UnrecoverableError, WaitingError, type Job } from 'bullmq'
import { z } from 'zod'
import { readWebhookSecret } from '../../src/config/credentials.ts'
import type { Config } from '../../src/config/read-config.ts'
import { describeError } from '../../src/errors/errors.ts'
import { codeOf } from '../../src/errors/faults.ts'
import type { Logger } from '../../src/machine/log.ts'
import type { Mirror } from '../../src/store/mirror.ts'
import { isoTime } from '../../src/time/moments.ts'
import { PROGRAM_VERSION } from '../../src/machine/version.ts'
import { repeatedly, type Timings } from '../timings.ts'
import type { Backend } from '../queue/port.ts'
import { createQueueWorker, type Queues } from '../queue/queues.ts'
import { previousDueMs } from '../schedule/due-times.ts'
import { isAnyBehind, lookUpRuns, nightAt, nightText, reportNight, rotasOf, standingsOf, wentWell } from './nights.ts'

const KINDS = ['notify', 'heartbeat'] as const

/** The report of a night, or its heartbeat: the due time of a rota, in Unix milliseconds. */
const payload = z.object({ kind: z.enum(KINDS), rota: z.string(), dueMs: z.number() })

type Settings = {
  config: { readonly current: Config }
  mirror: Mirror
  queues: Pick<Queues, 'sync' | 'notify'>
  backend: Backend
  log: Logger
  timings: Pick<Timings, 'notifyLookMs' | 'notifyPauseMs' | 'leftWaitMs' | 'lockMs' | 'stalledMs'>
  now: () => number
}

/** With their waits, about half an hour. */
const ATTEMPTS = 8
/** Deliveries under way at the same time: a receiver that does not answer delays no other. */
const AT_ONCE = 10
const DAY_MS = 86_400_000

/** A delivery that ended stays for longer than a year, and with it its name: no night is reported twice. */
const KEPT = { age: 400 * 86_400, count: 10_000 }

/**
 * Reports nights, and sends heartbeats. When the due time of a rota has come, every worker puts a job of its name into the queue, which takes
 * each name once. The job waits until the night is over, and is tried again until the receiver takes it. No job is taken until `worker.run()`.
 */
export function createNotifier(settings: Settings) {
  const { backend, queues, config, timings, now } = settings
  const stopping = new AbortController()
  const asked = new Map<string, number>()
  const backoff = { type: 'exponential', delay: timings.notifyPauseMs, jitter: 0.5 }
  const options = { attempts: ATTEMPTS, backoff, removeOnComplete: KEPT, removeOnFail: KEPT, stackTraceLimit: 0 }
  const looking = repeatedly(timings.notifyLookMs, async () => {
    for (const kind of KINDS.filter((each) => config.current[each] !== undefined))
      for (const { name: rota, ...line } of rotasOf(config.current.organizations)) {
        const dueMs = previousDueMs(rota, { ...line, spreadMs: 0 }, now())
        const name = `${kind}.${rota}`
        // None for years: 0.
        if (dueMs === 0 || asked.get(name) === dueMs) continue
        await queues.notify.add(kind, { kind, rota, dueMs }, { ...options, jobId: `${name}.${dueMs}` })
        asked.set(name, dueMs)
      }
  })
  const worker = createQueueWorker<unknown>(
    backend,
    'notify',
    async (job, token) => deliver(job, token, { ...settings, signal: stopping.signal }),
    { concurrency: AT_ONCE, timings, maxStalledCount: ATTEMPTS },
  )
  return {
    worker,
    stop: () => {
      looking.stop()
      stopping.abort()
    },
  }
}

async function deliver(
  job: Job<unknown, void>,
  token: string | undefined,
  settings: Settings & { signal: AbortSignal },
): Promise<void> {
  const { config, mirror, now, log, timings, signal } = settings
  const delay = async (waitMs: number): Promise<never> => {
    await job.moveToDelayed(now() + waitMs, token)
    throw new DelayedError()
  }
  const parsed = payload.safeParse(job.data)
  if (!parsed.success) throw new UnrecoverableError('This job names no night. This program did not create it.')
  const { kind, rota: name, dueMs } = parsed.data
  const { organizations: configured, [kind]: target, notify } = config.current
  const rota = rotasOf(configured).find((each) => each.name === name)
  // Another worker may have another configuration.
  if (rota === undefined || target === undefined) return now() - dueMs > DAY_MS ? undefined : delay(timings.leftWaitMs)
  const night = nightAt(rota, dueMs, job.timestamp)
  const standings = await standingsOf(night, settings)
  if (now() < night.lastMs && standings.some(({ ended }) => ended === 'pending')) return delay(timings.notifyLookMs)
  const organizations = await lookUpRuns(standings, settings)
  const isWell = wentWell(organizations)
  // A heartbeat is for nights that went well, while the other organizations are well too: their nights have the same dead-man switch.
  const isWanted =
    kind === 'notify' ? !isWell || notify?.only !== 'failures' : isWell && !(await isAnyBehind(configured, settings))
  if (!isWanted) return
  const id = hash('sha256', `${await mirror.identity()} ${job.id}`).slice(0, 32)
  const report =
    notify?.format === 'slack' ? { text: nightText(night, organizations) } : reportNight(night, organizations, now())
  const message = { id, body: JSON.stringify(report) }
  const { isTaken, answer } = await (kind === 'notify' ? post(target, message, settings) : send(target.url, { signal }))
  if (signal.aborted && !isTaken) {
    await job.moveToWait(token)
    throw new WaitingError()
  }
  const attempts = job.attemptsMade + 1
  const facts = { kind, dueAt: isoTime(dueMs), attempts, answer }
  if (isTaken) return log.info(facts, 'night reported')
  if (attempts >= ATTEMPTS) log.error(facts, 'night not reported, given up')
  else log.warn(facts, 'night not reported, another attempt follows')
  throw new Error(answer)
}

/** Posts a message, signed where there is a secret. */
async function post(
  { url, secret }: { url: URL; secret?: Parameters<typeof readWebhookSecret>[0] | undefined },
  message: Message,
  { now, signal }: { now: () => number; signal: AbortSignal },
): Promise<Sent> {
  try {
    const key = secret && (await readWebhookSecret(secret))
    const headers = webhookHeaders(message, { unixSeconds: Math.floor(now() / 1000), secret: key })
    return await send(url, { body: message.body, headers, signal })
  } catch (error) {
    return { isTaken: false, answer: describeError(error).message }
  }
}

type Message = { id: string; body: string }

/** The headers of https://www.standardwebhooks.com. The id stays the same when a message is sent again, the time does not. */
export function webhookHeaders(
  { id, body }: Message,
  { unixSeconds, secret }: { unixSeconds: number; secret: string | undefined },
): Record<string, string> {
  const headers = { 'webhook-id': id, 'webhook-timestamp': String(unixSeconds) }
  if (secret === undefined) return headers
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
  const signature = createHmac('sha256', key).update(`${id}.${unixSeconds}.${body}`).digest('base64')
  return { ...headers, 'webhook-signature': `v1,${signature}` }
}

/** What became of a request: only what may be logged, so never the address, which may hold a token. */
type Sent = { isTaken: boolean; answer: string }

/** For one request, with its answer. */
const TIMEOUT_MS = 15_000

/** Sends one request to the configured address and nowhere else, and reads nothing of the answer but its status. Never throws. */
export async function send(
  url: URL,
  { body, headers, signal }: { body?: string; headers?: Record<string, string>; signal: AbortSignal },
): Promise<Sent> {
  const posted = body !== undefined && { method: 'POST', body }
  const type = body !== undefined && { 'content-type': 'application/json' }
  const asked = { ...posted, headers: { 'user-agent': `customer-mirror/${PROGRAM_VERSION}`, ...type, ...headers } }
  try {
    const limits = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)])
    const response = await fetch(url, { ...asked, redirect: 'manual', signal: limits })
    await response.body?.cancel()
    return { isTaken: response.ok, answer: `status ${response.status}` }
  } catch (error) {
    return { isTaken: false, answer: reasonOf(error) }
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown'
  if (error.name === 'TimeoutError') return `no answer within ${TIMEOUT_MS / 1000} s`
  const first = error.cause instanceof Error ? error.cause : error
  return codeOf(first) ?? first.name
}
