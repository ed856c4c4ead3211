import { UsageError } from '../errors/errors.ts'
import {
  DEFAULT_HEADERS,
  isEncoded,
  PRESET_NAMES,
  PRESETS,
  readTimestamp,
  SECRET_ENCODINGS,
  SIGNATURE_ENCODINGS,
  signature,
  stringToSign,
  type PresetName,
  type Recipe,
  type SignableRequest,
} from './signing.ts'

/** One request whose signature is known to be good, everything as it was sent. */
export type KnownGoodRequest = {
  request: SignableRequest
  /** The timestamp header's text. */
  timestamp: string
  signature: string
  secret: string
  /** Needed only by recipes that sign the key too. */
  apiKey: string
}

/** A recipe that yields the known signature, and the preset its template belongs to. */
export type Solution = { preset: PresetName; recipe: Recipe }

/**
 * Every recipe that makes the known signature, among all presets, encodings and ways to decode the secret; empty if there is none.
 * Throws UsageError where the timestamp has a form that no recipe has.
 */
export function solveRecipe(known: KnownGoodRequest): Solution[] {
  const time = readTimestamp(known.timestamp)
  if (time === undefined)
    throw new UsageError(
      'The timestamp must be as it was sent, in a form that can be signed: Unix seconds, Unix milliseconds, or a time such as ' +
        '2026-01-05T02:00:00.000Z. A service that sends another form is not supported.',
    )
  const candidates = PRESET_NAMES.flatMap((preset) =>
    SIGNATURE_ENCODINGS.flatMap((encoding) =>
      SECRET_ENCODINGS.flatMap((secretEncoding) =>
        prefixesOf(known.signature).map((prefix): Solution => {
          const recipe = { template: PRESETS[preset], encoding, prefix, secretEncoding, timestamp: time.form }
          return { preset, recipe: { ...recipe, headers: DEFAULT_HEADERS } }
        }),
      ),
    ),
  )
  return distinct(
    candidates.filter(({ recipe }) => {
      const text = stringToSign(known.request, known.apiKey, { unixMs: time.unixMs }, recipe)
      return isEncoded(known.secret, recipe.secretEncoding) && signature(text, known.secret, recipe) === known.signature
    }),
  )
}

/** The possible prefixes of a signature: none, or a text like `sha256=`. */
function prefixesOf(text: string): string[] {
  const prefix = /^[a-z][\w.-]*[=: ]\s*(?=\S)/i.exec(text)?.[0]
  return prefix === undefined ? [''] : ['', prefix]
}

/** Two ways to decode a secret can give the same key; the first one named is enough. */
function distinct(solutions: readonly Solution[]): Solution[] {
  const seen = new Set<string>()
  return solutions.filter(({ recipe: { template, encoding, prefix } }) => {
    const key = JSON.stringify([template, encoding, prefix])
    return !seen.has(key) && seen.add(key)
  })
}
