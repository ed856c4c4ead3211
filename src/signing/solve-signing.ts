import { UsageError } from '../errors/errors.ts'
import {
  isEncoded,
  PRESET_NAMES,
  readTimestamp,
  recipeOf,
  SECRET_ENCODINGS,
  SIGNATURE_ENCODINGS,
  signature,
  stringToSign,
  type Credentials,
  type SignableRequest,
} from './signing.ts'

/** Every recipe that makes a signature known to be good, as it was sent, with its preset; maybe none. Throws UsageError for an odd timestamp. */
export function solveRecipe(known: Credentials & { request: SignableRequest; timestamp: string; signature: string }) {
  const time = readTimestamp(known.timestamp)
  if (time === undefined)
    throw new UsageError(
      'The timestamp must be as it was sent, in a form that can be signed: Unix seconds, Unix milliseconds, or a time such as ' +
        '2026-01-05T02:00:00.000Z. A service that sends another form is not supported.',
    )
  const forms = PRESET_NAMES.flatMap((preset) =>
    SIGNATURE_ENCODINGS.flatMap((encoding) =>
      prefixesOf(known.signature).map((prefix) => {
        return { preset, recipe: { ...recipeOf(preset), encoding, prefix, timestamp: time.form } }
      }),
    ),
  )
  return forms.flatMap(({ preset, recipe: form }) => {
    const text = stringToSign(known.request, known.apiKey, { unixMs: time.unixMs }, form)
    // Two ways to decode a secret can give the same key; the first one named is enough.
    const recipe = SECRET_ENCODINGS.map((secretEncoding) => ({ ...form, secretEncoding })).find(
      (each) => isEncoded(known.secret, each.secretEncoding) && signature(text, known.secret, each) === known.signature,
    )
    return recipe === undefined ? [] : [{ preset, recipe }]
  })
}

function prefixesOf(text: string): string[] {
  const prefix = /^[a-z][\w.-]*[=: ]\s*(?=\S)/i.exec(text)?.[0]
  return prefix === undefined ? [''] : ['', prefix]
}
