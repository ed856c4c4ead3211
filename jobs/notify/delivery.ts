import { z } from 'zod'
import { backoffMs } from '../../src/time/backoff.ts'
import { parseValue } from '../queue/shared-values.ts'
import { isFarAhead } from '../../src/time/clock-tolerance.ts'

/**
 * How far the report of a night, or its heartbeat, has come. Kept in the queue, so that all workers know it:
 *
 *   ──▶ open ──▶ every organization ended, or the night did ──▶ claimed ──▶ done
 *                                                              │      ▲
 *                                                   not taken  └──────┘  after a pause, by any worker
 */
export type Delivery = z.output<typeof delivery>

const delivery = z.object({
  version: z.literal(1),
  /** The due time of the night, and when a worker first saw that it had come. Unix milliseconds. */
  dueMs: z.number(),
  seenMs: z.number(),
  /** The id of the message: a receiver that gets it twice can drop the second. */
  id: z.string().max(100),
  attempts: z.number(),
  /** No attempt before this, because one is under way or has just failed. Unix milliseconds. */
  notBeforeMs: z.number(),
  isDone: z.boolean(),
  /** The due times of nights before this one that are done with, the last ones. Unix milliseconds. */
  doneMs: z.array(z.number()).optional(),
})

/** So many nights that are done with are kept: a night with a clock ahead is followed by few others before it is set. */
const MOST_DONE = 10

/** After so many attempts, within about half an hour, the night is given up. */
export const MOST_ATTEMPTS = 8

/** What is kept, or `unknown` where a later version wrote it. */
export function parseDelivery(text: string | undefined): Delivery | undefined | 'unknown' {
  return text === undefined ? undefined : (parseValue(delivery, text) ?? 'unknown')
}

type Opening = { dueMs: number; nowMs: number; id: string; before?: Delivery | undefined }

/** The delivery of a night, after the one that was kept `before`. A night that is done with stays so, also after a clock was ahead. */
export function opened({ dueMs, nowMs, id, before }: Opening): Delivery {
  const doneMs = before === undefined ? [] : doneSoFar(before, nowMs)
  return { version: 1, dueMs, seenMs: nowMs, id, attempts: 0, notBeforeMs: 0, isDone: doneMs.includes(dueMs), doneMs }
}

/** Nights that lie far ahead were seen by a wrong clock, and are still to come. */
function doneSoFar({ dueMs, isDone, doneMs = [] }: Delivery, nowMs: number): number[] {
  const all = isDone ? [...doneMs, dueMs] : doneMs
  return all.filter((eachMs) => !isFarAhead(eachMs, nowMs)).slice(-MOST_DONE)
}

/**
 * Whether the next due time has come, and the night before it is done with. A due time that lies a little ahead was opened by a worker
 * whose clock is ahead of this one; one that lies far ahead comes from a clock that was wrong.
 */
export function isToOpen(kept: Delivery | undefined, { dueMs, nowMs }: { dueMs: number; nowMs: number }): boolean {
  return kept === undefined || (kept.isDone && kept.dueMs < dueMs) || isFarAhead(kept.dueMs, nowMs)
}

/** Whether an attempt may be made now. A clock that was set back stretches no pause. */
export function mayTry({ isDone, notBeforeMs }: Delivery, nowMs: number): boolean {
  return !isDone && (nowMs >= notBeforeMs || notBeforeMs - nowMs > 2 * LONGEST_PAUSE_MS)
}

/** The delivery with one more attempt, which begins now. The next one follows after `leastPauseMs` and a backoff. */
export function claimed(
  kept: Delivery,
  { nowMs, random, leastPauseMs }: { nowMs: number; random: number; leastPauseMs: number },
): Delivery {
  const attempts = kept.attempts + 1
  const pauseMs = backoffMs(attempts, random, { firstMs: leastPauseMs / 2, longestMs: LONGEST_PAUSE_MS })
  return { ...kept, attempts, notBeforeMs: nowMs + leastPauseMs + pauseMs }
}

const LONGEST_PAUSE_MS = 600_000
