import { timingSafeEqual } from 'node:crypto'
import { signature, stringToSign, usesNonce } from '../signing/signing.ts'
import type { Credentials, HeaderNames, Recipe, TimestampForm } from '../signing/signing.ts'

/** The signed parts of a request, with its authentication headers as sent. */
export type SentRequest = { method: string; url: URL; headers: Record<keyof HeaderNames, string | undefined> }

/** Why a request is not authenticated. Safe to show: contains no key, no secret and no signature. */
export type Refusal = {
  header: string
  reason: string
  /** If the signature is wrong, the string that should have been signed, with `{api_key}` in place of the key. */
  stringToSign?: string
}

/** The allowed difference between a request's timestamp and the clock of the service. */
const TOLERANCE_MS = 300_000

/** Why `request` was not signed with `credentials` just now; undefined when it was. */
export function findRefusal(
  request: SentRequest,
  credentials: Credentials,
  { recipe, nowMs }: { recipe: Recipe; nowMs: number },
): Refusal | undefined {
  const { nonce, signature: given, timestamp: text = '' } = request.headers
  const because = (name: keyof HeaderNames, reason: string): Refusal => ({ header: recipe.headers[name], reason })
  const { pattern, msOf, words } = TIMESTAMPS[recipe.timestamp]
  const unixMs = pattern.test(text) ? msOf(text) : Number.NaN
  if (Number.isNaN(unixMs)) {
    const problem = text === '' ? 'is missing' : 'cannot be read'
    return because('timestamp', `${problem}; it must be the time as ${words}`)
  }
  const aheadMs = unixMs - nowMs
  if (Math.abs(aheadMs) > TOLERANCE_MS) {
    const distance = `${Math.round(Math.abs(aheadMs) / 1000)} seconds ${aheadMs > 0 ? 'ahead of' : 'behind'}`
    const allowed = `at most ${TOLERANCE_MS / 1000} are allowed`
    return because('timestamp', `is ${distance} the clock of this service; ${allowed}`)
  }
  if (usesNonce(recipe) && !nonce) return because('nonce', 'is missing')
  if (!given) return because('signature', 'is missing')

  const moment = nonce === undefined ? { unixMs } : { unixMs, nonce }
  const expected = signature(stringToSign(request, credentials.apiKey, moment, recipe), credentials.secret, recipe)
  if (sameText(given, expected)) return undefined
  return {
    ...because('signature', `is not the HMAC-SHA256 of string_to_sign ${form(recipe)}`),
    stringToSign: stringToSign(request, '{api_key}', moment, recipe),
  }
}

/** Only one notation of a time is accepted, because the signature is checked over the moment in that notation. */
const TIMESTAMPS: Record<TimestampForm, { pattern: RegExp; msOf: (text: string) => number; words: string }> = {
  s: { pattern: /^(0|[1-9]\d{0,11})$/, msOf: (text) => Number(text) * 1000, words: 'Unix seconds' },
  ms: { pattern: /^(0|[1-9]\d{0,14})$/, msOf: Number, words: 'Unix milliseconds' },
  iso: {
    pattern: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/,
    msOf: Date.parse,
    words: 'ISO 8601 in UTC with milliseconds, like 2024-01-02T03:04:05.000Z',
  },
}

function form({ encoding, prefix, secretEncoding }: Recipe): string {
  const start = prefix === '' ? '' : ` after "${prefix}"`
  const key = secretEncoding === 'utf8' ? 'as UTF-8 text' : `decoded from ${secretEncoding}`
  return `in ${encoding}${start}, with the secret ${key}`
}

/** Compares two texts in constant time, for texts of the same length. */
function sameText(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)]
  return a.length === b.length && timingSafeEqual(a, b)
}
