import { parsedJson } from '../parsed-json.ts'
import { errorEnvelope } from './page/envelope.ts'

/**
 * What the service said about a refusal, as ` (code: "message")`, fit for an error message: only the two fields of the error
 * envelope, at most 60 and 200 characters, nothing that could be a secret or a person. Empty if it sent neither.
 */
export function quoted(text: string, secrets: readonly string[]): string {
  const { error, message } = errorEnvelope.safeParse(parsedJson(text)).data ?? {}
  const code = error !== undefined && /^[\w.-]{1,60}$/.test(error) ? scrubbed(error, secrets) : ''
  const said = message === undefined ? '' : scrubbed(message, secrets)
  if (said === '') return code === '' ? '' : ` (${code})`
  return code === '' ? ` ("${said}")` : ` (${code}: "${said}")`
}

const LONGEST_QUOTE = 200

/** Masked before it is cut, so that no half of a secret is left at the end. */
function scrubbed(text: string, secrets: readonly string[]): string {
  const masked = secrets
    .filter((secret) => secret.length > 0)
    .toSorted((a, b) => b.length - a.length)
    .reduce((rest, secret) => rest.replaceAll(secret, MASK), text)
    .replace(EMAIL, MASK)
    .replace(TOKEN_LIKE, MASK)
  return shortened(masked.replace(/[\p{C}\p{Z}\s]+/gu, ' ').trim())
}

/** At most 200 characters of a text, with `…` where it is cut. */
export function shortened(text: string): string {
  return text.length <= LONGEST_QUOTE ? text : `${text.slice(0, LONGEST_QUOTE - 1).toWellFormed()}…`
}

const MASK = '[…]'
const EMAIL = /[^\s@"'<>]{1,64}@[^\s@"'<>]{1,255}/g
/** Signatures, identifiers and keys: services like to say which one they expected. */
const TOKEN_LIKE = /(?=[\w+/=-]*\d)[\w+/=-]{20,}/g
