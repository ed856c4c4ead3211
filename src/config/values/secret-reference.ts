import { z } from 'zod'
import { path } from './path.ts'

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
