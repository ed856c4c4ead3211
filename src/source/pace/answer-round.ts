/** What became of a request. All times in milliseconds, by the monotonic clock. */
export type RequestOutcome = {
  startedMs: number
  /** When its answer came, or when it failed. */
  endedMs: number
  /** How long of this the process had nothing else to do: an answer that came while it was busy is noticed late. */
  idleMs: number
  /** Requests under way when it ended, itself included. */
  underWay: number
}

/** Some answers to requests that ran at the same number. */
export class AnswerRound {
  /** Requests that started before are not of this round. */
  readonly sinceMs: number
  readonly #atOnce: number
  readonly #took: number[] = []
  readonly #idle: number[] = []
  #toSkip: number
  #underWay = 0

  constructor(atOnce: number, sinceMs: number, skip: number) {
    this.#atOnce = atOnce
    this.sinceMs = sinceMs
    this.#toSkip = skip
  }

  add({ startedMs, endedMs, idleMs, underWay }: RequestOutcome): void {
    if (startedMs < this.sinceMs) return
    if (this.#toSkip > 0) {
      this.#toSkip -= 1
      return
    }
    this.#took.push(endedMs - startedMs)
    this.#idle.push(Math.min(idleMs, endedMs - startedMs))
    this.#underWay = Math.max(this.#underWay, underWay)
  }

  get isOver(): boolean {
    return this.#took.length >= Math.max(LEAST_ANSWERS, this.#atOnce)
  }

  /** Whether all turns were used. */
  get isFull(): boolean {
    return this.#underWay >= this.#atOnce
  }

  get tookMs(): number {
    return typical(this.#took)
  }

  get idleMs(): number {
    return typical(this.#idle)
  }
}

const LEAST_ANSWERS = 12

/** The mean, in which an outlier counts no more than two usual answers: the median would not show a queue before half of them wait. */
function typical(times: readonly number[]): number {
  const median = times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0
  return times.reduce((sum, ms) => sum + Math.min(ms, 2 * median), 0) / times.length
}
