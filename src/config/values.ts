import { z } from 'zod'
import { DURATION_FORM, durationMs } from '../time/duration-text.ts'
import { exactUrl, holdsCredentials, isInTheClear } from '../address/http-address.ts'

/** A check of a text: its mistake as a sentence, or undefined. */
export function refusing(mistakeIn: (text: string) => string | undefined) {
  return z.superRefine<string>((text, context) => {
    const mistake = mistakeIn(text)
    if (mistake !== undefined) context.addIssue(mistake)
  })
}

/** A text, converted to a value by `parse`, which returns the value or its mistake as a sentence. */
export function converted<Value extends object>(parse: (text: string) => Value | { problem: string }) {
  return z.string().transform((text, context) => {
    const parsed = parse(text)
    if (!('problem' in parsed)) return parsed
    context.addIssue({ code: 'custom', message: parsed.problem })
    return z.NEVER
  })
}

/** The path of a file, as written in a configuration. */
export const path = z
  .string()
  .regex(/\S/, 'must be a path')
  .refine((text) => !text.includes('\0'), 'must be a path without NUL characters')
  .refine((text) => !text.startsWith('~'), 'must be a full path: ~ is not expanded here')
  .refine(
    (text) => !/\$\{\w+\}|\$[A-Z_][A-Z0-9_]*(?:\/|$)/.test(text),
    'must be a full path: variables such as $HOME are not expanded here',
  )

/** A check that the path is not written as that of a folder. */
export function namingFile(example: string) {
  return refusing((text) =>
    /[/\\]$/.test(text) ? `must name a file, such as ${example}, and not a folder` : undefined,
  )
}

const EXAMPLES = 'must be a duration such as 500ms, 30s, 15m, 6h or 1d'

/** A duration of the configuration, in milliseconds once parsed. Both bounds are written as durations and included. */
export function duration({ min, max }: { min: string; max: string }) {
  const minMs = durationMs(min) ?? 0
  const maxMs = durationMs(max) ?? 0
  const values = `a duration from ${min} to ${max}`
  return z
    .string(EXAMPLES)
    .regex(DURATION_FORM, EXAMPLES)
    .transform((text, context) => {
      const ms = durationMs(text) ?? Number.NaN
      if (ms >= minMs && ms <= maxMs) return ms
      context.addIssue({ code: 'custom', message: `must be ${values}` })
      return z.NEVER
    })
    .meta({ title: values })
}

/** The name of an environment variable or the path of a file that holds a secret; one of the two. */
export type ReferenceForm = { env?: string; file?: string }

export const NOT_IN_THIS_FILE =
  'must not be written into this file: put it in an environment variable and write { env: NAME }, or in a file and write { file: path }'

/** `ofText`: what a text in its place is answered with. */
export function secretReferenceForm(ofText?: string) {
  return z
    .strictObject(
      {
        env: z
          .string()
          .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'must be the name of an environment variable, without $ or braces')
          .exactOptional()
          .meta({ description: 'The environment variable that holds the value.', examples: ['ACME_API_KEY'] }),
        file: path.exactOptional().meta({
          description: 'The file that holds the value; relative to the folder of this configuration.',
          examples: ['/run/secrets/acme'],
        }),
      },
      ofText === undefined ? undefined : { error: ({ input }) => (typeof input === 'string' ? ofText : undefined) },
    )
    .refine((reference) => Object.keys(reference).length === 1, 'must have either env or file')
    .meta({ minProperties: 1, maxProperties: 1 })
}

/**
 * The address above `/customers`: https, or http on this machine; nothing but origin and path, without a slash at the end. Else a
 * sentence about its mistake, which never repeats the text: that may hold credentials.
 */
export function parseBaseUrl(text: string): URL | { problem: string } {
  const url = exactUrl(text)
  if (url === undefined) return { problem: NO_ADDRESS }
  if (holdsCredentials(url))
    return { problem: 'must not hold a user name or password: credentials belong in apiKey and secret' }
  if (text.includes('?') || text.includes('#'))
    return { problem: 'must end with the path: remove the ? or # and what follows' }
  if (isInTheClear(url))
    return {
      problem: 'must be an https URL (plain http is accepted for this machine only, e.g. http://127.0.0.1:8080)',
    }
  url.pathname = url.pathname.replace(/\/+$/, '')
  if (/\/customers$/i.test(url.pathname))
    return { problem: 'must be the address above /customers: remove /customers from the end' }
  return url
}

const NO_ADDRESS = 'must be an https URL such as https://acme.orders.example.com/api/v1'
