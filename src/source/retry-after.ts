import { type AnswerHeaders, headerOf } from './connection.ts'

/**
 * How long a refusal asks us to wait, in milliseconds from `nowMs` by the service's clock: `Retry-After` as seconds or an HTTP date, else
 * `X-RateLimit-Reset` as Unix seconds or seconds from now. At least a second; undefined when neither says anything usable.
 */
export function retryAfterMs(headers: AnswerHeaders, nowMs: number): number | undefined {
  const [after = '', reset = ''] = ['retry-after', 'x-ratelimit-reset'].map((name) => headerOf(headers, name))
  const dateMs = httpDateMs(after)
  const stated = dateMs === undefined ? fromNumber(after, nowMs) : believable(dateMs - nowMs)
  const asked = stated ?? fromNumber(reset, nowMs)
  return asked === undefined ? undefined : Math.max(SHORTEST_PAUSE_MS, Math.ceil(asked))
}

/** The least wait after an answer that asks to slow down: services often name 0 or a moment just past, and would refuse the same instant again. */
export const SHORTEST_PAUSE_MS = 1000

/** A longer wait than this is a broken header; following it would stop an organization for good. */
const LONGEST_BELIEVABLE_MS = 31 * 24 * 60 * 60 * 1000

/** Seconds from now stay far below this, and every Unix second since 2001 is above it. */
const FIRST_UNIX_SECOND = 1_000_000_000
const FIRST_UNIX_MILLISECOND = 1_000_000_000_000

function fromNumber(text: string, nowMs: number): number | undefined {
  if (!/^\d{1,16}(\.\d{1,9})?$/.test(text)) return undefined
  const value = Number(text)
  if (value >= FIRST_UNIX_MILLISECOND) return believable(value - nowMs)
  return believable(value >= FIRST_UNIX_SECOND ? value * 1000 - nowMs : value * 1000)
}

function believable(waitMs: number): number | undefined {
  return waitMs <= LONGEST_BELIEVABLE_MS ? waitMs : undefined
}

/** How many requests the rate limit still allows, if the service states it. */
export function remainingIn(headers: AnswerHeaders): number | undefined {
  const text = headerOf(headers, 'x-ratelimit-remaining')
  return text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) : undefined
}

/** An HTTP date as Unix milliseconds; undefined for anything else, and for the oldest form, which names no zone. */
export function httpDateMs(text: string): number | undefined {
  const ms = FORMS.some((form) => form.test(text)) ? Date.parse(text) : Number.NaN
  return Number.isNaN(ms) ? undefined : ms
}

// Date.parse alone finds a date in almost anything ("soon 1" is in 2001), so the shape is checked first.
const FORMS = [
  /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/,
  /^[A-Z][a-z]{5,8}, \d{2}-[A-Z][a-z]{2}-\d{2} \d{2}:\d{2}:\d{2} GMT$/,
]
