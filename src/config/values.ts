import { resolve } from 'node:path'
import { z } from 'zod'
import { durationMs } from '../time/durations.ts'

/* Forms of values that several settings share. No message repeats what was written. */

type Meaning = { default?: string | number | boolean; examples?: (string | number | string[])[]; format?: 'uri' }

/** A setting that may be left out. `description` says what it is, and when to change it. */
export function setting<Schema extends z.ZodType>(schema: Schema, description: string, meaning: Meaning = {}) {
  const optional = schema.exactOptional()
  // `meta` would make a copy of each, which every start pays for.
  z.globalRegistry.add(optional, { description, ...meaning })
  return optional
}

/** A whole number; both bounds are included. */
export function whole(min: number, max: number, message = `must be a whole number from ${min} to ${max}`) {
  return z.int(message).min(min, message).max(max, message)
}

/** A check of a text: its mistake as a sentence, or undefined. */
export function refusing(mistakeIn: (text: string) => string | undefined) {
  return z.superRefine<string>((text, context) => {
    const mistake = mistakeIn(text)
    if (mistake !== undefined) context.addIssue(mistake)
  })
}

/** A text, converted to a value by `parse`, which returns the value or its mistake as a sentence. `form` is what other values than texts are told. */
export function converted<Value extends object | number>(
  parse: (text: string) => Value | { problem: string },
  form?: string,
) {
  return z.string(form).transform((text, context) => {
    const parsed = parse(text)
    if (typeof parsed !== 'object' || !('problem' in parsed)) return parsed
    context.addIssue({ code: 'custom', message: parsed.problem })
    return z.NEVER
  })
}

export const path = z
  .string()
  .regex(/\S/, 'must be a path')
  .refine((text) => !text.includes('\0'), 'must be a path without NUL characters')
  .refine(
    (text) => !/^~|\$\{\w+\}|\$[A-Z_][A-Z0-9_]*(?:\/|$)/.test(text),
    'must be a full path: ~ and $HOME are not expanded',
  )

/** A check that the path is not written as that of a folder. */
export function namingFile(example: string) {
  return refusing((text) =>
    /[/\\]$/.test(text) ? `must name a file, such as ${example}, and not a folder` : undefined,
  )
}

const DURATIONS = 'must be a duration such as 500ms, 30s, 15m, 6h or 1d'

/** A duration, in milliseconds once parsed. Both bounds are included. The word `orElse` may stand in its place, and is Infinity. */
export function duration({ min, max, orElse }: { min: string; max: string; orElse?: string }) {
  const values = `a duration from ${min} to ${max}${orElse === undefined ? '' : `, such as 365d, or ${orElse}`}`
  const form = orElse === undefined ? DURATIONS : `must be ${values}`
  return converted((text) => {
    if (text === orElse) return Infinity
    const ms = durationMs(text)
    if (ms === undefined) return { problem: form }
    return ms >= (durationMs(min) ?? 0) && ms <= (durationMs(max) ?? 0) ? ms : { problem: `must be ${values}` }
  }, form).meta({ title: values })
}

/** The place of a secret. Literals are allowed only for a service on this machine. File paths are absolute. */
export type SecretReference = { env: string } | { file: string } | { literal: string }

export const NOT_IN_THIS_FILE =
  'must not be written into this file: put it in an environment variable and write { env: NAME }, or in a file and write { file: path }'

const variable = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'must be the name of an environment variable, without $ or braces')

export const secretReferenceForm = z
  .strictObject(
    {
      env: setting(variable, 'The environment variable that holds the value.', { examples: ['ACME_API_KEY'] }),
      file: setting(path, 'The file that holds the value; relative to the folder of this configuration.', {
        examples: ['/run/secrets/acme'],
      }),
    },
    { error: ({ input }) => (typeof input === 'string' ? NOT_IN_THIS_FILE : undefined) },
  )
  .refine((reference) => Object.keys(reference).length === 1, 'must have either env or file')
  .meta({ minProperties: 1, maxProperties: 1 })

/** A reference as configured, its path made absolute. */
export function secretReference(written: { literal: string } | z.output<typeof secretReferenceForm>, folder: string) {
  if ('literal' in written) return written
  return written.file === undefined ? { env: written.env ?? '' } : { file: resolve(folder, written.file) }
}
