import { z } from 'zod'
import { NOT_IN_THIS_FILE, secretReference, secretReferenceForm, setting, whole } from './values.ts'

/** What programs may read of the mirror through `customer-mirror serve`, in the configuration. */
export const serve = z.strictObject({
  readers: z
    .array(
      z.strictObject({
        name: z
          .string()
          .regex(/^[a-z0-9][a-z0-9._-]{0,62}$/, 'must be lower-case letters, digits, dots, dashes and underscores')
          .meta({ description: 'The name of the reader in logs and metrics.', examples: ['shop'] }),
        organizations: z
          .array(z.string())
          .min(1, 'must name at least one organization')
          .meta({
            description:
              'The organizations that it may read. With several, the host name of a request begins with one.',
            examples: [['acme']],
          }),
        apiKey: secretReferenceForm(NOT_IN_THIS_FILE).meta({ description: 'Where its API key is kept.' }),
        secret: secretReferenceForm(NOT_IN_THIS_FILE).meta({ description: 'Where its signing secret is kept.' }),
        requestsPerMinute: setting(
          whole(1, 1_000_000),
          'The most requests that it may send in a minute. Set it where a reader takes too much.',
        ),
      }),
    )
    .min(1, 'must name at least one reader')
    .meta({ description: 'The programs that may read, each with a key and a secret of its own.' }),
})

type ServeFile = z.output<typeof serve>

export function serveSettings(file: ServeFile | undefined, folder: string) {
  return file?.readers.map((reader) => ({
    ...reader,
    apiKey: secretReference(reader.apiKey, folder),
    secret: secretReference(reader.secret, folder),
  }))
}
