import type { Logger } from '../../src/log.ts'
import type { LiveConfig, Reading } from './live-config.ts'
import type { SharedValues } from '../queue/shared-values.ts'
import { changedBefore, changedNow, mayWrite, nextStep, type Limits, type Own } from './acceptance.ts'
import { ACCEPTED, acceptedText, parseAccepted, type AcceptedValue } from './accepted-value.ts'
import { oneAtATime } from '../one-at-a-time.ts'

/** How the configuration of a worker stands to the accepted one. Times in Unix milliseconds. */
export type Standing = {
  /** When another configuration was accepted; undefined while this worker runs on the accepted one, or has not looked. */
  otherSinceMs: number | undefined
  /** Since when the file has mistakes. */
  brokenSinceMs: number | undefined
}

export type Following = {
  config: Pick<LiveConfig, 'reading' | 'modifiedMs' | 'brokenSinceMs'>
  values: SharedValues
  /** Whether the queue has only this worker. */
  isAlone: boolean
  timings: Limits
  /** Unix milliseconds. */
  now: () => number
  monotonicMs: () => number
  log: Pick<Logger, 'info' | 'warn'>
}

/** Several workers may write at once; each time, all but one look again. */
const MOST_TRIES = 10

/**
 * The accepted configuration of a queue, as one worker knows it. With each look it goes from unknown to `mine` or `other`, and back
 * and forth between these; only with `mine`, and a file without mistakes, the worker writes and removes schedules.
 */
export class AcceptedConfiguration {
  readonly #following: Following
  readonly #limits: Limits
  /** What the queue said last, and when; and since when it has been looked at and has not changed. */
  #seen: { text: string | undefined; value: AcceptedValue | undefined; sinceMs: number; atMs: number }
  /** The content of the own file, and since when it is wanted. */
  #own: { reading: Reading; changedMs: number }

  constructor(following: Following) {
    const { config, isAlone, timings, monotonicMs } = following
    const { modifiedMs, readAtMs } = config.reading
    this.#following = following
    // A worker that is alone waits for no other, and renews for none.
    this.#limits = isAlone ? { renewMs: Number.POSITIVE_INFINITY, abandonedMs: 0 } : timings
    const nowMs = monotonicMs()
    this.#seen = { text: undefined, value: undefined, sinceMs: nowMs, atMs: nowMs }
    this.#own = { reading: config.reading, changedMs: changedBefore(modifiedMs, readAtMs) }
  }

  /** Whether this worker may write and remove schedules, as of the last look. */
  get mayWrite(): boolean {
    return mayWrite(this.#ownNow(), this.#seen.value)
  }

  /** When the configuration was accepted on which this worker may write schedules; undefined while it may not. Unix milliseconds. */
  get writesSinceMs(): number | undefined {
    return this.mayWrite ? this.#seen.value?.acceptedMs : undefined
  }

  /** Whether this worker runs on the accepted configuration, even where its file has mistakes by now. */
  get isMine(): boolean {
    return this.#seen.value?.hash === this.#ownNow().hash
  }

  get standing(): Standing {
    const { value } = this.#seen
    return {
      otherSinceMs: this.isMine ? undefined : value?.acceptedMs,
      brokenSinceMs: this.#following.config.brokenSinceMs,
    }
  }

  /** A user says that the file counts from when it was last modified, as it does at a start. */
  offerAgain(): void {
    const { changedMs } = this.#ownNow()
    const { config, now } = this.#following
    this.#own = { ...this.#own, changedMs: Math.max(changedMs, changedBefore(config.modifiedMs, now())) }
  }

  /**
   * Looks which configuration is accepted, and offers or renews the own one. Rejects, or never settles, while the queue cannot be
   * reached.
   */
  readonly look = oneAtATime(() => this.#look())

  async #look(): Promise<void> {
    const { values, now, monotonicMs } = this.#following
    const wasOther = this.standing.otherSinceMs !== undefined
    for (let tries = 1; tries <= MOST_TRIES; tries += 1) {
      this.#ownNow()
      this.#see(await values.read(ACCEPTED))
      const own = this.#ownNow()
      const { text, value, sinceMs } = this.#seen
      const step = nextStep(own, value, monotonicMs() - sinceMs, this.#limits)
      if (step === 'wait') break
      const next = acceptedText(own, value, now())
      if (!(await values.replace(ACCEPTED, text, next))) continue
      this.#see(next)
      if (value?.hash !== own.hash) this.#logAccepted(own.hash)
      break
    }
    if (!wasOther && this.standing.otherSinceMs !== undefined) this.#warnOfOther()
  }

  #see(text: string | undefined): void {
    const { log, monotonicMs } = this.#following
    const nowMs = monotonicMs()
    // While the queue was gone, or this process frozen, others could not renew it either, or this worker could not see it.
    const isLooking = nowMs - this.#seen.atMs <= this.#limits.abandonedMs / 3
    const isSame = text === this.#seen.text
    const value = isSame ? this.#seen.value : text === undefined ? undefined : parseAccepted(text)
    if (!isSame && text !== undefined && value === undefined) log.warn({ value: ACCEPTED }, UNREADABLE)
    this.#seen = { text, value, sinceMs: isSame && isLooking ? this.#seen.sinceMs : nowMs, atMs: nowMs }
    // All workers with this content agree since when it is wanted.
    if (value !== undefined && value.hash === this.#own.reading.hash)
      this.#own = { ...this.#own, changedMs: Math.max(this.#own.changedMs, value.changedMs) }
  }

  /** The own content, and since when it is wanted. */
  #ownNow(): Own {
    const { reading, brokenSinceMs } = this.#following.config
    if (reading !== this.#own.reading)
      this.#own = { reading, changedMs: changedNow(reading.readAtMs, this.#seen.value) }
    return { hash: reading.hash, changedMs: this.#own.changedMs, isReadable: brokenSinceMs === undefined }
  }

  #logAccepted(hash: string): void {
    this.#following.log.info({ configuration: shortly(hash) }, 'configuration accepted')
  }

  #warnOfOther(): void {
    const { config, log } = this.#following
    const accepted = shortly(this.#seen.value?.hash ?? '')
    log.warn({ configuration: shortly(config.reading.hash), accepted }, OTHER)
  }
}

/** Enough of a hash to tell configurations apart in a log. */
function shortly(hash: string): string {
  return hash.slice(0, 12)
}

const OTHER = 'another configuration is accepted, the schedules are left to the workers that have it'
const UNREADABLE = 'the accepted configuration in the queue cannot be read, and is ignored'
