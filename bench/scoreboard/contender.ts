import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Sleep } from '../../src/machine/timers.ts'
import type { Certificate } from '../../src/scan/scan.ts'
import type { Sandbox } from '../../src/service/sandbox.ts'
import type { Recipe } from '../../src/signing/signing.ts'
import type { RateLimit } from '../../src/source/rate-limit.ts'

/** A program that keeps a copy of an organization's list and updates it every night. */
export type Contender = {
  /**
   * Reads the list once and brings the copy up to date. Calls `listRead` as soon as nothing more of the list will be asked
   * for, at the latest by returning. Never throws because of what a service answers.
   */
  spendNight: (listRead: () => void) => Promise<Said>
  /** The ids the copy holds and does not mark as removed, in lower case. */
  active: () => ReadonlySet<string>
  close: () => Promise<void>
}

/** A page as it was read: the ids of its customers in the order served, in lower case. */
export type PageRead = readonly string[]

/** What a contender says of its night. */
export type Said = {
  /** Every customer was read; every one who kept their place was; some may not have been; or it gave up. */
  claim: 'whole' | 'settled' | 'doubtful' | 'failed'
  /** The claim in its own words, and why it is no better. */
  word: string
  reasons: readonly string[]
  /** It failed for a reason that is a defect of its own. */
  isDefect: boolean
  /** The pages it took, searches aside, in the order of their answers. */
  pages: readonly PageRead[]
  /** Positions it says it could not read. */
  holes: Certificate['holes']
}

/** What is the same for both contenders: one may not wait longer, or know more, than the other. */
export type Terms = {
  recipe: Recipe
  clock: SkippingClock
  requestTimeoutMs: number
  /** Customers on the list when it was opened. */
  customers: number
  /** For contenders that request several pages at once. */
  concurrency: number
  rateLimit: RateLimit
  /** The pace agreed with the service; undefined where there is none. */
  requestsPerMinute: number | undefined
}

export type Organization = Sandbox['organizations'][number]

export type OpenContender = (organization: Organization, terms: Terms) => Promise<Contender>

/** The ids of the records that have one, in lower case. */
export function idsIn(records: readonly unknown[]): string[] {
  return records.flatMap((record) => {
    const isObject = typeof record === 'object' && record !== null
    return isObject && 'id' in record && typeof record.id === 'string' ? [record.id.toLowerCase()] : []
  })
}

/** A clock that advances only by sleeping, at once: waits cost nothing, and are the same on any machine. */
export type SkippingClock = {
  /** Unix milliseconds. */
  now: () => number
  sleep: Sleep
  skip: (ms: number) => void
}

export function skippingClock(startMs: number): SkippingClock {
  let nowMs = startMs
  return {
    now: () => nowMs,
    async sleep(ms, signal) {
      // Those who sleep at the same time sleep through the same time.
      const untilMs = nowMs + ms
      await nextTurn()
      signal.throwIfAborted()
      nowMs = Math.max(nowMs, untilMs)
    },
    skip: (ms) => {
      nowMs += ms
    },
  }
}
