import { z } from 'zod'
import { parseBaseUrl, duration, converted, secretReferenceForm } from './values.ts'
import { heartbeat, notify } from './settings/notify.ts'
import { publish } from './settings/publish.ts'
import { queueAddress } from './settings/queue-address.ts'
import { DEFAULT_MIRROR } from './places.ts'
import { mirror } from './settings/mirror.ts'
import { retention } from './settings/retention.ts'
import { ORGANIZATION_ID } from './organization-id.ts'
import { privacy } from './settings/privacy.ts'
import { quick } from './settings/quick.ts'
import { ownSchedule, schedule } from './settings/schedule.ts'
import { signing } from './settings/signing.ts'

/** Values of settings that neither the organization nor `defaults` has, and those that nobody sets; durations in milliseconds. */
export const BUILT_IN = {
  mirror: DEFAULT_MIRROR,
  pageSize: 100,
  concurrency: 8,
  requestTimeout: 30_000,
  maxWait: 900_000,
  maxRun: 21_600_000,
  resumeWithin: 21_600_000,
  scan: 'chain',
  removals: { after: 2, maxShare: 0.1 },
} as const

const settings = {
  pageSize: whole(1, 100)
    .exactOptional()
    .meta({ description: 'Customers requested at once.', default: BUILT_IN.pageSize }),
  concurrency: whole(1, 32)
    .exactOptional()
    .meta({ description: 'Requests sent at the same time.', default: BUILT_IN.concurrency }),
  requestTimeout: duration({ min: '100ms', max: '1h' })
    .exactOptional()
    .meta({ description: 'How long one request may take, with its whole answer.', default: '30s' }),
  maxWait: duration({ min: '0s', max: '24d' }).exactOptional().meta({
    description: 'How long a run may go without a successful answer, while the service fails or asks it to wait.',
    default: '15m',
  }),
  scan: z.enum(['chain', 'plain']).exactOptional().meta({
    description:
      'chain proves that no customer was missed; plain reads each page once, proves nothing and removes no customer.',
    default: BUILT_IN.scan,
  }),
  removals: z
    .strictObject({
      maxShare: z
        .number('must be a number from 0 to 1')
        .min(0, 'must be a number from 0 to 1')
        .max(1, 'must be a number from 0 to 1, such as 0.1 for a tenth')
        .exactOptional()
        .meta({
          description: 'The share of all customers that may be marked at once; more is held for a person to approve.',
          default: BUILT_IN.removals.maxShare,
        }),
    })
    .exactOptional()
    .meta({ description: 'When a customer that is no longer listed counts as removed.' }),
  rateLimit: z
    .strictObject({
      requestsPerMinute: whole(1, 1_000_000)
        .exactOptional()
        .meta({ description: 'The most requests to send in a minute.' }),
      shared: z
        .string()
        .regex(
          /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/,
          'must be at most 63 letters, digits, dots, dashes and underscores, the first a letter or digit',
        )
        .exactOptional()
        .meta({
          description:
            'Organizations that name the same limit here share it, pauses included, in all workers of a queue.',
        }),
    })
    .exactOptional()
    .meta({ description: 'How many requests the service may get.' }),
  signing: signing.exactOptional().meta({ description: 'How requests are signed.' }),
  retention,
  privacy: privacy.exactOptional().meta({ description: 'Fields of customers that are not stored as sent.' }),
}

const secret = z.union([
  z
    .string()
    .min(1, 'is empty: write { env: NAME } or { file: path }')
    .transform((literal) => ({ literal }))
    .meta({ description: 'The value itself. Only for services on this machine.' }),
  secretReferenceForm(),
])

const organization = z.strictObject({
  id: z
    .string()
    .regex(
      ORGANIZATION_ID,
      'must be at most 63 lower-case letters, digits, dots, dashes and underscores, the first a letter or digit',
    )
    .meta({ description: 'The short name of the organization, in every command and table.', examples: ['acme'] }),
  baseUrl: converted(parseBaseUrl).meta({
    description: 'The address of the service for this organization, without /customers at its end.',
    format: 'uri',
    examples: ['https://acme.orders.example.com/api/v1'],
  }),
  apiKey: secret.meta({ description: 'Where the API key is kept.' }),
  secret: secret.meta({ description: 'Where the signing secret is kept.' }),
  ...settings,
  schedule: ownSchedule
    .exactOptional()
    .meta({ description: 'When to mirror this organization, where it differs from the others.' }),
  quick: quick.exactOptional().meta({ description: 'What a quick run of this organization may cost.' }),
})

/** How many organizations a worker mirrors at the same time, where the configuration does not say. */
const DEFAULT_CONCURRENCY = 8

/** How a worker takes jobs, in the configuration. */
const jobs = z.strictObject({
  concurrency: whole(1, 256)
    .exactOptional()
    .meta({ description: 'Organizations that a worker mirrors at the same time.', default: DEFAULT_CONCURRENCY }),
})

/** The configuration file. Its output is what was written, checked and converted; nothing is merged yet. */
export const configFile = z
  .strictObject({
    mirror: mirror.exactOptional().meta({
      description:
        'The SQLite file, relative to the folder of this configuration, or the address of a PostgreSQL database, without a password.',
      default: BUILT_IN.mirror,
      examples: ['./data/customers.db', 'postgres://mirror@db.example.com:5432/customers'],
    }),
    queue: queueAddress.exactOptional().meta({
      description: 'The queue of the worker; other commands do not need it.',
      examples: ['redis://127.0.0.1:6379'],
    }),
    schedule: schedule.exactOptional().meta({ description: 'When the worker mirrors every organization.' }),
    jobs: jobs.exactOptional().meta({ description: 'How a worker takes jobs.' }),
    quick: quick
      .exactOptional()
      .meta({ description: 'What a quick run may cost: one that looks for changes between nights.' }),
    publish: publish.exactOptional().meta({
      description: 'A copy of the mirror for readers, made after each night.',
    }),
    notify: notify.exactOptional().meta({
      description: 'A report of each night, sent by the worker.',
    }),
    heartbeat: heartbeat.exactOptional().meta({
      description: 'A dead-man switch that the worker resets after each night that went well.',
    }),
    defaults: z
      .strictObject(settings)
      .exactOptional()
      .meta({ description: 'Settings for every organization that does not set them itself.' }),
    organizations: z
      .array(organization)
      .min(1, 'must list at least one organization')
      .meta({ description: 'The organizations to mirror.' }),
  })
  .meta({ title: 'Customer Mirror configuration' })

export type ConfigFile = z.output<typeof configFile>

function whole(min: number, max: number, message = `must be a whole number from ${min} to ${max}`) {
  return z.int(message).min(min, message).max(max, message)
}

/** The JSON Schema of the configuration file, for editors. */
export function configJsonSchema(): Record<string, unknown> {
  return {
    ...z.toJSONSchema(configFile, {
      io: 'input',
      override: ({ zodSchema, jsonSchema }) => {
        // zod leaves out defaults of converted values (durations); ours are written as in the file.
        const written = z.globalRegistry.get(zodSchema)?.['default']
        if (typeof written === 'string') jsonSchema.default ??= written
      },
    }),
  }
}

export type JobSettings = { concurrency: number }

export function jobSettings(written: z.output<typeof jobs> | undefined): JobSettings {
  return { concurrency: written?.concurrency ?? DEFAULT_CONCURRENCY }
}
