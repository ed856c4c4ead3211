import { AutoConcurrency } from '../../src/source/pace/auto-concurrency.ts'

/** When the service answers a request that comes in at `atMs`, while `underWay` are there with it. */
export type Service = (atMs: number, underWay: number) => Answered

type Answered = { afterMs: number; refusedForMs?: number }

type Request = { startedMs: number; idleMs: number; endsMs: number; refusedForMs: number | undefined }

export type Played = {
  /** Simulated time until the last page was there. */
  tookMs: number
  sent: number
  refused: number
  /** The number of requests at once after each answer. */
  atOnce: number[]
}

/**
 * Reads `pages` pages of a simulated service, by one process that does one thing at a time: an answer that comes while it works on
 * the one before is noticed late. With `fixed`, as many requests at once all the time.
 */
export function play(
  service: Service,
  {
    pages = 1000,
    workMs = () => 0.3,
    fixed,
  }: { pages?: number; workMs?: (page: number) => number; fixed?: number } = {},
): Played {
  const auto = new AutoConcurrency()
  const limit = () => fixed ?? auto.atOnce
  const atOnce: number[] = []
  const underWay: Request[] = []
  let [nowMs, idleMs, pausedUntilMs] = [0, 0, 0]
  let [sent, refused, left] = [0, 0, pages]
  let isReturning = false

  const wait = (untilMs: number) => {
    idleMs += Math.max(0, untilMs - nowMs)
    nowMs = Math.max(nowMs, untilMs)
  }
  // After a pause, one alone goes first.
  const maySend = () => left > 0 && nowMs >= pausedUntilMs && underWay.length < (isReturning ? 1 : limit())
  const send = () => {
    const { afterMs, refusedForMs } = service(nowMs, underWay.length + 1)
    underWay.push({ startedMs: nowMs, idleMs, endsMs: nowMs + afterMs, refusedForMs })
    underWay.sort((one, other) => one.endsMs - other.endsMs)
    sent += 1
    left -= 1
  }

  while (left > 0 || underWay.length > 0) {
    if (underWay.length === 0) wait(pausedUntilMs)
    while (maySend()) send()
    const request = underWay.shift()
    if (request === undefined) continue
    wait(request.endsMs)
    const startedMs = Math.floor(request.startedMs)
    const outcome = { startedMs, endedMs: Math.floor(nowMs), idleMs: idleMs - request.idleMs }
    if (request.refusedForMs === undefined) {
      auto.answered({ ...outcome, underWay: underWay.length + 1 })
      isReturning = false
      nowMs += workMs(pages - left)
    } else {
      auto.refused(outcome)
      isReturning = true
      pausedUntilMs = Math.max(pausedUntilMs, nowMs + request.refusedForMs)
      refused += 1
      left += 1
    }
    atOnce.push(limit())
  }
  return { tookMs: nowMs, sent, refused, atOnce }
}

/** Answers each request after the same time, however many there are. */
export function everyAnswerTakes(ms: number | ((atMs: number) => number)): Service {
  return (atMs) => ({ afterMs: typeof ms === 'number' ? ms : ms(atMs) })
}

/** Works on so many requests at once; the others wait in a queue. */
export function queueing(slots: number, workMs: (atMs: number) => number): Service {
  const freeAtMs = Array.from({ length: slots }, () => 0)
  return (atMs) => {
    const slot = freeAtMs.indexOf(Math.min(...freeAtMs))
    const endsMs = Math.max(atMs, freeAtMs[slot] ?? 0) + workMs(atMs)
    freeAtMs[slot] = endsMs
    return { afterMs: endsMs - atMs }
  }
}

/** Refuses more than so many requests in a window, as Laravel counts them, and names the time until the next one. */
export function allowing(requests: number, windowMs: number, service: Service): Service {
  let endMs = 0
  let used = 0
  return (atMs, underWay) => {
    if (atMs >= endMs) [endMs, used] = [atMs + windowMs, 0]
    used += 1
    return used > requests ? { afterMs: 5, refusedForMs: endMs - atMs } : service(atMs, underWay)
  }
}
