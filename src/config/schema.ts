import { z } from 'zod'
import type { Retention } from '../model/run.ts'
import { DEFAULT_MIRROR, mirrorPlace, queueAddress } from './addresses.ts'
import { privacy } from './privacy.ts'
import { publish } from './publish.ts'
import { ownSchedule, schedule } from './schedule.ts'
import { signing } from './signing.ts'
import { httpsAddress } from '../address/http-address.ts'
import { converted, duration, secretReferenceForm, setting, whole } from './values.ts'

/* The configuration file: every setting, its values, and what it is for. Settings with a matter of their own have a file beside this one. */

/** Values of settings that neither the organization nor `defaults` has, and values that are not settings; durations in milliseconds. */
export const BUILT_IN = {
  pageSize: 100,
  concurrency: 8,
  requestTimeout: 30_000,
  maxWait: 900_000,
  maxRun: 21_600_000,
  resumeWithin: 21_600_000,
  scan: 'chain' as const,
  removals: { after: 2, maxShare: 0.1 },
  jobs: { concurrency: 8 },
}

/** What an organization looks like in commands, tables and names of jobs. */
export const ORGANIZATION_ID = /^[a-z0-9][a-z0-9._-]{0,62}$/

const NAME = 'must be at most 63 letters, digits, dots, dashes and underscores, the first a letter or digit'
const SHARE = 'must be a number from 0 to 1, such as 0.1 for a tenth'

const FOREVER = 'forever'
const kept = duration({ min: '1d', max: '36500d', orElse: FOREVER })
const KEPT_FOREVER = { default: FOREVER, examples: ['365d'] }

const retention = z.strictObject({
  changes: setting(
    kept,
    'How long changes are kept, reports of runs that no row refers to, and rejected records after they were resolved; history and daily ' +
      'counts begin where changes do. Set it where the mirror grows too large.',
    KEPT_FOREVER,
  ),
  removedCustomers: setting(
    kept,
    'How long customers are kept after they were removed. Set it where no customer may be kept for ever.',
    KEPT_FOREVER,
  ),
})

const removals = z.strictObject({
  maxShare: setting(
    z.number(SHARE).min(0, SHARE).max(1, SHARE),
    'The share of all customers that may be marked at once; more is held for a person to approve. Lower it where few ever leave.',
    { default: BUILT_IN.removals.maxShare },
  ),
})

const rateLimit = z.strictObject({
  requestsPerMinute: setting(
    whole(1, 1_000_000),
    'The most requests to send in a minute. Set it to the limit of the service, if there is one.',
  ),
  shared: setting(
    z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/, NAME),
    'Organizations that name the same limit here share it, pauses included, in all workers of a queue. Set it where the service counts them together.',
  ),
})

const settings = {
  pageSize: setting(whole(1, 100), 'Customers requested at once. Lower it for a service that refuses 100.', {
    default: BUILT_IN.pageSize,
  }),
  concurrency: setting(whole(1, 32), 'Requests sent at the same time. Lower it for a service that slows down.', {
    default: BUILT_IN.concurrency,
  }),
  requestTimeout: setting(
    duration({ min: '100ms', max: '1h' }),
    'How long one request may take, with its whole answer. Raise it for a slow service.',
    { default: '30s' },
  ),
  maxWait: setting(
    duration({ min: '0s', max: '24d' }),
    'How long a run may go without a successful answer, while the service fails or asks it to wait. Raise it for long outages at night.',
    { default: '15m' },
  ),
  scan: setting(
    z.enum(['chain', 'plain']),
    'chain proves that no customer was missed; plain reads each page once, proves nothing and removes no customer. Set plain where every request counts.',
    { default: BUILT_IN.scan },
  ),
  removals: setting(removals, 'When a customer that is no longer listed counts as removed.'),
  rateLimit: setting(rateLimit, 'How many requests the service may get.'),
  signing: setting(signing, 'How requests are signed.'),
  retention: setting(retention, 'How long old rows are kept, in days; without it, for ever. Applied after each run.'),
  privacy: setting(privacy, 'Fields of customers that are not stored as sent.'),
}

const literalSecret = z
  .string()
  .min(1, 'is empty: write { env: NAME } or { file: path }')
  .transform((literal) => ({ literal }))
  .meta({ description: 'The value itself. Only for services on this machine.' })
const secret = z.union([literalSecret, secretReferenceForm])

const shortName = z.string().regex(ORGANIZATION_ID, NAME.replace('letters', 'lower-case letters'))

const organization = z.strictObject({
  id: shortName.meta({ description: 'The short name of the organization in commands and tables.', examples: ['acme'] }),
  baseUrl: converted(parseBaseUrl).meta({
    description: 'The address of the service for this organization, without /customers at its end.',
    format: 'uri',
    examples: ['https://acme.orders.example.com/api/v1'],
  }),
  apiKey: secret.meta({ description: 'Where the API key is kept.' }),
  secret: secret.meta({ description: 'Where the signing secret is kept.' }),
  ...settings,
  schedule: setting(ownSchedule, 'When to mirror this organization, where it differs from the others.'),
})

/** Sentences never repeat the text, which may hold a token. */
const hook = converted((text) => {
  const url = httpsAddress(text, 'https://hooks.example.com/customer-mirror')
  return 'hash' in url && url.hash !== '' ? { problem: 'must not hold a #: what follows it is never sent' } : url
})

const notify = z.strictObject({
  url: hook.meta({
    description: 'Where to send a report of each night, as one POST of JSON with counts and reasons.',
    format: 'uri',
    examples: ['https://hooks.example.com/customer-mirror'],
  }),
  secret: setting(
    secretReferenceForm,
    'Where the secret is kept that signs it: whsec_ and base64, as Standard Webhooks have it. Set it where others can reach the receiver.',
  ),
  format: setting(
    z.enum(['json', 'slack']),
    'The form of the report. Set slack for a chat: a sentence for each organization, as the webhooks of Slack and Mattermost take it.',
    { default: 'json' },
  ),
  only: setting(
    z.enum(['failures']),
    'Which nights are reported. Set failures to hear only of those in which an organization was not read to its end, or waits for a person.',
  ),
})

const heartbeat = z.strictObject({
  url: hook.meta({
    description: 'The address to request, with one GET, after each night that went well.',
    format: 'uri',
    examples: ['https://hc-ping.com/00000000-0000-0000-0000-000000000000'],
  }),
})

const someIds = z.array(z.string()).min(1, 'must name at least one organization')

const reader = z.strictObject({
  name: shortName.meta({ description: 'The name of the reader in logs and metrics.', examples: ['shop'] }),
  organizations: someIds.meta({
    description: 'The organizations that it may read. With several, the host name of a request begins with one.',
    examples: [['acme']],
  }),
  apiKey: secretReferenceForm.meta({ description: 'Where its API key is kept.' }),
  secret: secretReferenceForm.meta({ description: 'Where its signing secret is kept.' }),
  requestsPerMinute: setting(
    whole(1, 1_000_000),
    'The most requests that it may send in a minute. Set it where a reader takes too much.',
  ),
})

const readers = z.array(reader).min(1, 'must name at least one reader')
const serve = z.strictObject({
  readers: readers.meta({ description: 'The programs that may read, each with a key and a secret of its own.' }),
})

const jobs = z.strictObject({
  concurrency: setting(
    whole(1, 256),
    'Organizations that a worker mirrors at the same time. Lower it where memory is short.',
    { default: BUILT_IN.jobs.concurrency },
  ),
})

/** The configuration file. Its output is what was written, checked and converted; nothing is merged yet. */
export const configFile = z
  .strictObject({
    mirror: setting(
      mirrorPlace,
      'The SQLite file, relative to the folder of this configuration, or the address of a PostgreSQL database, without a password. ' +
        'Change it where another disk, or a server, is to hold the mirror.',
      {
        default: DEFAULT_MIRROR,
        examples: ['./data/customers.db', 'postgres://mirror@db.example.com:5432/customers'],
      },
    ),
    queue: setting(queueAddress, 'The queue of the worker; other commands do not need it. Set it to run a worker.', {
      examples: ['redis://127.0.0.1:6379'],
    }),
    schedule: setting(schedule, 'When the worker mirrors every organization.'),
    jobs: setting(jobs, 'How a worker takes jobs.'),
    publish: setting(publish, 'A copy of the mirror for readers, made after each night.'),
    notify: setting(notify, 'A report of each night, sent by the worker.'),
    serve: setting(serve, 'What programs may read of the mirror through customer-mirror serve.'),
    heartbeat: setting(heartbeat, 'A dead-man switch that the worker resets after each night that went well.'),
    defaults: setting(z.strictObject(settings), 'Settings for every organization that does not set them itself.'),
    organizations: z
      .array(organization)
      .min(1, 'must list at least one organization')
      .meta({ description: 'The organizations to mirror.' }),
  })
  .meta({ title: 'Customer Mirror configuration' })

export type ConfigFile = z.output<typeof configFile>

type Kept = z.output<typeof retention> | undefined

/** The limits of an organization: its own, then the shared ones; undefined where nothing is set. */
export function mergeRetention(shared: Kept, own: Kept): Retention | undefined {
  const { changes, removedCustomers } = { ...shared, ...own }
  const [changesMs, removedCustomersMs] = [changes, removedCustomers].map((ms) => (ms === Infinity ? undefined : ms))
  if (changesMs === undefined && removedCustomersMs === undefined) return undefined
  return { changesMs, resolvedRejectsMs: changesMs, runsMs: changesMs, removedCustomersMs }
}

/** The address above `/customers`, no slash at its end, or a sentence about its mistake, without the text, which may hold credentials. */
export function parseBaseUrl(text: string): URL | { problem: string } {
  const url = httpsAddress(text, 'https://acme.orders.example.com/api/v1')
  if ('problem' in url) return url
  if (/[?#]/.test(text)) return { problem: 'must end with the path: remove the ? or # and what follows' }
  url.pathname = url.pathname.replace(/\/+$/, '')
  if (/\/customers$/i.test(url.pathname))
    return { problem: 'must be the address above /customers: remove /customers from the end' }
  return url
}

export function configJsonSchema() {
  return z.toJSONSchema(configFile, {
    io: 'input',
    override: ({ zodSchema, jsonSchema }) => {
      // zod leaves out defaults of converted values (durations); ours are written as in the file.
      const written = z.globalRegistry.get(zodSchema)?.['default']
      if (typeof written === 'string') jsonSchema.default ??= written
    },
  })
}
