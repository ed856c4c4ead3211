import { AnswerRound, type RequestOutcome } from './answer-round.ts'

/** Requests at once in the beginning, and at most. */
export const AUTO_START = 4
export const AUTO_MOST = 16

/**
 * How many requests run at once where the configuration leaves it open. It is judged once a round, by its typical answer:
 *
 *                  as fast, every turn was used: twice as many
 *                     ┌────┐
 *                     ▼    │   slower, or a refusal            every turn was used, as fast: one more
 *   ───────────────▶ doubling ─────────────────────▶ adding ◀──┐
 *                                                    │  ▲ ▲ └──┘
 *         clearly slower: half as many, to see whether │ └── it helped: too many had been under way; stay
 *         that helps                                 ▼    │
 *                                                   trying ── it did not: the service itself is slower, as before
 *
 * A refusal halves the number in any state, and is not forgotten before the next night: until then it grows no further than this.
 * A night ends with an hour without answers, or after a day, because quick runs leave no such hour.
 * The answers are compared with the fastest rounds so far, as TCP Vegas does; trying half as many takes the place of its probes.
 */
export class AutoConcurrency {
  #atOnce = AUTO_START
  #most = AUTO_MOST
  #isDoubling = true
  /** What answers take when they do not wait for each other. */
  #bestMs: number | undefined
  #slowRounds = 0
  #trying: { before: number; idleMs: number } | undefined
  #round = new AnswerRound(AUTO_START, -Infinity, AUTO_START)
  #growsAgainMs = -Infinity
  /** How long it does not grow after the next refusal. */
  #patienceMs = PATIENCE_MS
  #night: { sinceMs: number; lastMs: number } | undefined

  get atOnce(): number {
    return this.#atOnce
  }

  answered(outcome: RequestOutcome): void {
    this.#noteTime(outcome)
    const round = this.#round
    round.add(outcome)
    if (!round.isOver) return
    this.#round = new AnswerRound(this.#atOnce, round.sinceMs, 0)
    if (this.#trying === undefined) this.#judge(round, outcome.endedMs)
    else this.#endTrial(round, this.#trying, outcome.endedMs)
  }

  /** The service said that it got too many requests. */
  refused(outcome: Pick<RequestOutcome, 'startedMs' | 'endedMs'>): void {
    if (!this.#slowDown(outcome, 1)) return
    this.#most = Math.max(AUTO_START, this.#atOnce)
    this.#growsAgainMs = outcome.endedMs + this.#patienceMs
    this.#patienceMs = Math.min(LONGEST_PATIENCE_MS, 2 * this.#patienceMs)
  }

  /** The limit that the service states is nearly reached: then it gets no more than with a fixed number. */
  nearLimit(nowMs: number): void {
    this.#slowDown({ startedMs: nowMs, endedMs: nowMs }, AUTO_START)
  }

  /** The service could not answer. */
  struggled(outcome: Pick<RequestOutcome, 'startedMs' | 'endedMs'>): void {
    this.#slowDown(outcome, AUTO_START)
  }

  #judge(round: AnswerRound, nowMs: number): void {
    const { tookMs, idleMs, isFull } = round
    // One request at a time waits for no other one: a service that is slower than its best must not keep it there.
    const bestMs = (this.#bestMs = this.#atOnce === 1 ? tookMs : nearer(this.#bestMs, tookMs))
    // Twice as many go past the right number, where one more would have stopped at it.
    const [tooSlow, rounds] = this.#isDoubling ? [AS_FAST, 1] : [CLEARLY_SLOWER, 2]
    // While a queue builds up, the time says little about how long it will be.
    this.#slowRounds = isFull && idleMs > bestMs * tooSlow + SLACK_MS ? this.#slowRounds + 1 : 0
    if (this.#slowRounds >= rounds) return this.#try(idleMs, nowMs)
    if (isFull && tookMs <= bestMs * AS_FAST + SLACK_MS && nowMs >= this.#growsAgainMs) this.#grow(nowMs)
  }

  #grow(nowMs: number): void {
    const more = this.#isDoubling ? 2 * this.#atOnce : this.#atOnce + 1
    if (this.#atOnce === this.#most) this.#isDoubling = false
    this.#set(Math.min(this.#most, more), nowMs)
  }

  #try(idleMs: number, nowMs: number): void {
    this.#isDoubling = false
    this.#slowRounds = 0
    this.#trying = { before: this.#atOnce, idleMs }
    this.#set(half(this.#atOnce), nowMs)
  }

  #endTrial(round: AnswerRound, { before, idleMs }: { before: number; idleMs: number }, nowMs: number): void {
    this.#trying = undefined
    if (round.idleMs <= idleMs * HELPED) return
    this.#bestMs = round.tookMs
    this.#set(before, nowMs)
  }

  /** False for a request that started before the number was changed last: it says nothing about this number. */
  #slowDown({ startedMs, endedMs }: Pick<RequestOutcome, 'startedMs' | 'endedMs'>, least: number): boolean {
    if (startedMs < this.#round.sinceMs) return false
    this.#isDoubling = false
    this.#trying = undefined
    this.#growsAgainMs = endedMs + PATIENCE_MS
    this.#set(Math.max(Math.min(least, this.#atOnce), half(this.#atOnce)), endedMs)
    return true
  }

  #set(atOnce: number, nowMs: number): void {
    if (atOnce === this.#atOnce) return
    // The first answers come over connections that are opened for them, or had to wait behind the many before.
    const skip = atOnce > this.#atOnce ? atOnce - this.#atOnce : atOnce
    this.#atOnce = atOnce
    this.#round = new AnswerRound(atOnce, nowMs, skip)
  }

  #noteTime({ startedMs, endedMs }: RequestOutcome): void {
    const night = (this.#night ??= { sinceMs: startedMs, lastMs: startedMs })
    const isOver = startedMs - night.lastMs > NEXT_NIGHT_MS || startedMs - night.sinceMs > LONGEST_NIGHT_MS
    if (isOver) this.#beginNight(startedMs)
    this.#night = { sinceMs: isOver ? startedMs : night.sinceMs, lastMs: endedMs }
  }

  /** Since the night before, much may have changed. */
  #beginNight(nowMs: number): void {
    this.#most = Math.min(AUTO_MOST, this.#most * 2)
    this.#bestMs = undefined
    this.#trying = undefined
    this.#isDoubling = true
    this.#patienceMs = PATIENCE_MS
    this.#set(Math.min(AUTO_START, this.#atOnce), nowMs)
  }
}

/** Answers that take up to so many times as long as the fastest are as fast. */
const AS_FAST = 1.15
/** Answers that take longer than so many times as long are clearly slower. */
const CLEARLY_SLOWER = 1.5
/** Less than this is a matter of the process, or of chance. */
const SLACK_MS = 2
/** Half as many requests helped where the answers come so much faster. */
const HELPED = 0.75
const PATIENCE_MS = 10_000
/** A limit by the minute would else be found out by refusals in every minute. */
const LONGEST_PATIENCE_MS = 120_000
const NEXT_NIGHT_MS = 3_600_000
const LONGEST_NIGHT_MS = 24 * 3_600_000

function nearer(bestMs: number | undefined, tookMs: number): number {
  if (bestMs === undefined) return tookMs
  return tookMs < bestMs ? (bestMs + tookMs) / 2 : bestMs
}

function half(atOnce: number): number {
  return Math.max(1, Math.floor(atOnce / 2))
}
