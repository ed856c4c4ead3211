import type { Config } from '../../src/config/read-config.ts'
import { readWebhookSecret } from '../../src/config/credentials.ts'
import { describeError } from '../../src/errors/errors.ts'
import type { Logger } from '../../src/log.ts'
import type { Mirror } from '../../src/store.ts'
import { isoTime } from '../../src/time/iso-time.ts'
import type { Queues } from '../queue/queues.ts'
import type { Backend } from '../queue/backend.ts'
import type { Timings } from '../timings.ts'
import { claimed, isToOpen, mayTry, MOST_ATTEMPTS, opened, parseDelivery, type Delivery } from './delivery.ts'
import { reportNight, wentWell } from './night-report.ts'
import { lastDueMs, nightAt, rotasOf, type Rota } from './nights.ts'
import { isAnyBehind, isOver, lookUpNight } from './look-up-night.ts'
import { createHmac } from 'node:crypto'
import { version } from '../../src/version.ts'

/** Reports nights, and sends heartbeats, beside the runs of a worker. */
export type Notifier = { stop(): void }

type Settings = {
  config: { readonly current: Config }
  mirror: Mirror
  queues: Pick<Queues, 'sync'>
  backend: Pick<Backend, 'values'>
  log: Logger
  timings: Pick<Timings, 'notifyLookMs' | 'notifyPauseMs'>
  /** Unix milliseconds. */
  now: () => number
  random: () => number
  freshId: () => string
}

const KINDS = ['notify', 'heartbeat'] as const
type Kind = (typeof KINDS)[number]

/** Looks from now on, until it is stopped, whether a night has ended that was not reported yet by any worker. */
export function startNotifier(settings: Settings): Notifier {
  const { config, log, timings } = settings
  const stopping = new AbortController()
  const underWay = new Set<Kind>()

  // A receiver that does not answer delays no deliveries of the other kind.
  function look(): void {
    for (const kind of KINDS) {
      if (config.current[kind] === undefined || underWay.has(kind)) continue
      underWay.add(kind)
      void deliverAll(kind, settings, stopping.signal)
        // The queue or the mirror is away, which is logged elsewhere: the next look is soon.
        .catch((error: unknown) => log.debug({ failure: describeError(error) }, 'nights not looked at'))
        .finally(() => underWay.delete(kind))
    }
  }

  const looking = setInterval(look, timings.notifyLookMs)
  return {
    stop() {
      clearInterval(looking)
      stopping.abort()
    },
  }
}

/** Takes the deliveries of one kind one step further. What is kept of them is read at once, however many cron lines there are. */
async function deliverAll(kind: Kind, settings: Settings, signal: AbortSignal): Promise<void> {
  const { backend, config, now } = settings
  const kept = await backend.values.list(`${kind}:`)
  for (const rota of rotasOf(config.current.organizations)) {
    const dueMs = lastDueMs(rota, now())
    if (signal.aborted) return
    if (dueMs !== undefined)
      await deliver(kind, { rota, dueMs, before: kept.get(nameOf(kind, rota)) }, settings, signal)
  }
}

function nameOf(kind: Kind, rota: Rota): string {
  return `${kind}:${rota.name}`
}

/** Takes a delivery one step further, where this worker is the one to do so: another one may have changed what was kept `before`. */
async function deliver(
  kind: Kind,
  { rota, dueMs, before }: { rota: Rota; dueMs: number; before: string | undefined },
  settings: Settings,
  signal: AbortSignal,
): Promise<void> {
  const { backend, now, random, freshId, log } = settings
  const kept = parseDelivery(before)
  if (kept === 'unknown') return
  const name = nameOf(kind, rota)
  const keep = (text: string | undefined, next: Delivery) => backend.values.replace(name, text, JSON.stringify(next))
  if (kept === undefined || isToOpen(kept, { dueMs, nowMs: now() })) {
    await keep(before, opened({ dueMs, nowMs: now(), id: freshId(), before: kept }))
    return
  }
  if (!mayTry(kept, now())) return
  const night = nightAt(rota, kept.dueMs, kept.seenMs)
  if (!(await isOver(night, settings))) return
  const organizations = await lookUpNight(night, settings)
  const facts = { kind, dueAt: isoTime(night.dueMs), attempts: kept.attempts }
  const done = (delivery: Delivery) => ({ ...delivery, isDone: true })
  if (organizations.length === 0 || !(await isWanted(kind, wentWell(organizations), settings))) {
    await keep(before, done(kept))
    return
  }
  if (kept.attempts >= MOST_ATTEMPTS) {
    if (await keep(before, done(kept))) log.error(facts, 'night not reported, given up')
    return
  }
  const mine = claimed(kept, { nowMs: now(), random: random(), leastPauseMs: settings.timings.notifyPauseMs })
  if (!(await keep(before, mine))) return
  const { isTaken, answer } = await post(kind, {
    id: mine.id,
    body: JSON.stringify(reportNight(night, organizations, now())),
    ...{ settings, signal },
  })
  if (signal.aborted) return
  const said = { ...facts, attempts: mine.attempts, answer }
  if (!isTaken) return log.warn(said, 'night not reported, another attempt follows')
  await keep(JSON.stringify(mine), done(mine))
  log.info(said, 'night reported')
}

/** A heartbeat is for nights that went well, while the other organizations are well too: their nights have the same dead-man switch. */
async function isWanted(kind: Kind, isWell: boolean, settings: Settings): Promise<boolean> {
  const { organizations, notify } = settings.config.current
  if (kind === 'heartbeat') return isWell && !(await isAnyBehind(organizations, settings))
  return !isWell || notify?.only !== 'failures'
}

async function post(
  kind: Kind,
  { id, body, settings, signal }: { id: string; body: string; settings: Settings; signal: AbortSignal },
): Promise<Sent> {
  const { config, now } = settings
  const { notify, heartbeat } = config.current
  if (kind === 'heartbeat' && heartbeat !== undefined) return send(heartbeat.url, { signal })
  if (kind === 'heartbeat' || notify === undefined) return { isTaken: false, answer: 'no longer configured' }
  try {
    const secret = notify.secret && (await readWebhookSecret(notify.secret))
    const headers = webhookHeaders({ id, body }, { unixSeconds: Math.floor(now() / 1000), secret })
    return await send(notify.url, { body, headers, signal })
  } catch (error) {
    return { isTaken: false, answer: describeError(error).message }
  }
}

/** A message, to be sent as it is. */
type Message = { id: string; body: string }

/**
 * The headers of a webhook as https://www.standardwebhooks.com has them; without a secret it is not signed. The id stays the same when a
 * message is sent again, the time does not.
 */
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

/**
 * Sends one request and reads nothing of the answer but its status. Follows no redirect: what is sent goes to the configured address and
 * nowhere else. Never throws.
 */
export async function send(
  url: URL,
  { body, headers, signal }: { body?: string; headers?: Record<string, string>; signal: AbortSignal },
): Promise<Sent> {
  try {
    const response = await fetch(url, {
      method: body === undefined ? 'GET' : 'POST',
      redirect: 'manual',
      headers: {
        'user-agent': `customer-mirror/${version()}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body }),
      signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
    })
    await response.body?.cancel()
    return { isTaken: response.ok, answer: `status ${response.status}` }
  } catch (error) {
    return { isTaken: false, answer: reasonOf(error) }
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown'
  if (error.name === 'TimeoutError') return `no answer within ${TIMEOUT_MS / 1000} s`
  const { cause } = error
  if (!(cause instanceof Error)) return error.name
  return 'code' in cause && typeof cause.code === 'string' ? cause.code : cause.name
}
