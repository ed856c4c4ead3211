import { timingSafeEqual } from 'node:crypto'
import { signature, stringToSign, usesNonce } from '../signing/signing.ts'
import type { Credentials, HeaderNames, Recipe, TimestampForm } from '../signing/signing.ts'

/** The signed parts of a request, with its authentication headers as sent. */
export type SentRequest = { method: string; url: URL; headers: SentHeaders }
type SentHeaders = Record<keyof HeaderNames, string | undefined>

/** Why a request is not authenticated. Safe to show: contains no key, no secret and no signature. */
export type Refusal = {
  /** The header at fault. */
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
  const { headers } = request
  const unixMs = readTimestamp(headers.timestamp, recipe.timestamp)
  if (unixMs === undefined) return badTimestamp(headers.timestamp, recipe)
  if (Math.abs(nowMs - unixMs) > TOLERANCE_MS) return staleTimestamp(unixMs - nowMs, recipe)
  if (usesNonce(recipe) && !headers.nonce) return { header: recipe.headers.nonce, reason: 'is missing' }
  if (!headers.signature) return { header: recipe.headers.signature, reason: 'is missing' }

  const moment = headers.nonce === undefined ? { unixMs } : { unixMs, nonce: headers.nonce }
  const expected = signature(stringToSign(request, credentials.apiKey, moment, recipe), credentials.secret, recipe)
  if (sameText(headers.signature, expected)) return undefined
  return {
    header: recipe.headers.signature,
    reason: `is not the HMAC-SHA256 of string_to_sign ${form(recipe)}`,
    stringToSign: stringToSign(request, '{api_key}', moment, recipe),
  }
}

/**
 * The moment of a timestamp. Only one notation is accepted, because the signature is checked over the moment in that notation.
 */
function readTimestamp(text: string | undefined, expected: TimestampForm): number | undefined {
  if (text === undefined || !TIMESTAMP_PATTERNS[expected].test(text)) return undefined
  if (expected === 'iso') return Number.isNaN(Date.parse(text)) ? undefined : Date.parse(text)
  return expected === 's' ? Number(text) * 1000 : Number(text)
}

function badTimestamp(text: string | undefined, { headers, timestamp }: Recipe): Refusal {
  const problem = text === undefined || text === '' ? 'is missing' : 'cannot be read'
  return {
    header: headers.timestamp,
    reason: `${problem}; it must be the time as ${TIMESTAMP_FORMS_IN_WORDS[timestamp]}`,
  }
}

function staleTimestamp(aheadMs: number, { headers }: Recipe): Refusal {
  const distance = `${Math.round(Math.abs(aheadMs) / 1000)} seconds ${aheadMs > 0 ? 'ahead of' : 'behind'}`
  const reason = `is ${distance} the clock of this service; at most ${TOLERANCE_MS / 1000} are allowed`
  return { header: headers.timestamp, reason }
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

const TIMESTAMP_PATTERNS: Record<TimestampForm, RegExp> = {
  s: /^(0|[1-9]\d{0,11})$/,
  ms: /^(0|[1-9]\d{0,14})$/,
  iso: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/,
}

const TIMESTAMP_FORMS_IN_WORDS: Record<TimestampForm, string> = {
  s: 'Unix seconds',
  ms: 'Unix milliseconds',
  iso: 'ISO 8601 in UTC with milliseconds, like 2024-01-02T03:04:05.000Z',
}
