import { resolve } from 'node:path'
import { z } from 'zod'
import { isLikeAddress } from '../../address/mirror-address.ts'
import { parseBucketAddress, type BucketAddress, endpointMistake } from '../bucket.ts'
import { namingFile, path, converted, refusing } from '../values.ts'

/** What is published for readers, as configured: a copy in a file, Parquet in a folder, objects in a bucket, or several of them. */
export type PublishSettings = {
  /** An absolute path, which may hold `{organization}`. */
  file: string | undefined
  /** A folder, by its absolute path. */
  parquet: string | undefined
  to: BucketAddress | undefined
  group: string | number | undefined
  keep: number | undefined
  splitBy: 'organization' | undefined
  /** The service that has the bucket; undefined for that of the environment, or else Amazon S3. */
  endpoint: string | undefined
  region: string | undefined
  withoutPersonalData: boolean
}

const ORGANIZATION = '{organization}'

const file = path
  .refine((text) => !isLikeAddress(text), 'must be on this machine; a place in object storage is named as to')
  .check(namingFile('./copies/customers.db'))
  .refine(hasKnownPlaceholders, `may hold ${ORGANIZATION}, and no other name in braces`)

const parquet = path
  .refine((text) => !isLikeAddress(text), 'must be on this machine; a place in object storage is named as to')
  .check(namingFile('./copies/parquet'))
  .refine((text) => !/[{}]/.test(text), 'must not hold braces: each organization has a folder of its own in it')

const GROUP = 'must be the name or the number of a group, such as analysts or 1005'

const group = z.union(
  [
    z
      .int(GROUP)
      .min(0, GROUP)
      .max(2 ** 32 - 2, GROUP),
    z
      .string()
      .regex(/^(?!-)[^\s:,/]{1,64}$/, GROUP)
      .refine(hasKnownPlaceholders, `may hold ${ORGANIZATION}, and no other name in braces`),
  ],
  GROUP,
)

const to = converted(parseBucketAddress)

const endpoint = z.string().check(refusing(endpointMistake))

const REGION = 'must be the name of a region, such as eu-central-1'

const MOST_KEPT = 1000
const KEPT = `must be a whole number from 0 to ${MOST_KEPT}`

/** The copy for readers, in the configuration. */
export const publish = z
  .strictObject({
    file: file.exactOptional().meta({
      description:
        'The copy, in a folder of its own; relative to the folder of this configuration. file, parquet or to is needed, or several of them.',
      examples: ['./copies/customers.db', '/srv/copies/{organization}/customers.db'],
    }),
    parquet: parquet.exactOptional().meta({
      description: 'A folder of its own, in which each organization has a Parquet file.',
      examples: ['./copies/parquet'],
    }),
    to: to.exactOptional().meta({
      description: 'A place in object storage: a Parquet object for each organization, and a manifest.',
      examples: ['s3://analytics/customer-mirror'],
    }),
    endpoint: endpoint.exactOptional().meta({
      description:
        'With to: the address of a service that speaks S3. Without it AWS_ENDPOINT_URL_S3, or else Amazon S3.',
      format: 'uri',
      examples: ['https://minio.example.com'],
    }),
    region: z
      .string()
      .regex(/^[a-z0-9-]{1,63}$/, REGION)
      .exactOptional()
      .meta({
        description: 'With to: the region of the bucket. Without it AWS_REGION.',
        examples: ['eu-central-1'],
      }),
    group: group.exactOptional().meta({
      description: 'The group whose members may read the copy. With splitBy its name may hold {organization}.',
      examples: ['analysts'],
    }),
    keep: z
      .int(KEPT)
      .min(0, KEPT)
      .max(MOST_KEPT, KEPT)
      .exactOptional()
      .meta({
        description: 'How many older copies are kept beside it, each named by its time; others are removed.',
        examples: [7],
      }),
    splitBy: z.enum(['organization']).exactOptional().meta({
      description: 'A copy for each organization, with its own rows and nothing else.',
    }),
    withoutPersonalData: z.boolean('must be true or false').exactOptional().meta({
      description: 'Leaves personal data out, and lets every user of the machine read the copy.',
      default: false,
    }),
  })
  .superRefine((written, context) => {
    for (const [name, message] of contradictions(written)) context.addIssue({ code: 'custom', path: [name], message })
  })

type Written = Partial<
  Record<'file' | 'parquet' | 'to' | 'endpoint' | 'region' | 'group' | 'keep' | 'splitBy', unknown>
>

/** Settings that make no sense together, each with its mistake. */
function contradictions(written: Written): [name: string, message: string][] {
  const { file: place, parquet: folder, to: address, splitBy, group: owner } = written
  if (place === undefined && folder === undefined && address === undefined)
    return [
      [
        'file',
        'is missing: name the copy, a folder as parquet, or a place in object storage as to: s3://bucket/prefix',
      ],
    ]
  const isThere = (name: keyof Written) => written[name] !== undefined
  const without = (names: readonly (keyof Written)[], message: string) =>
    names.filter(isThere).map((name): [string, string] => [name, message])
  const unsplit: Record<string, unknown> = splitBy === undefined ? { file: place, group: owner } : {}
  return [
    ...(place === undefined ? without(['keep', 'splitBy'], OF_FILES) : []),
    ...(place === undefined && folder === undefined ? without(['group'], OF_FILES) : []),
    ...(address === undefined
      ? without(['endpoint', 'region'], 'is about object storage: add to: s3://bucket/prefix')
      : []),
    ...(folder !== undefined && typeof owner === 'string' && owner.includes(ORGANIZATION)
      ? without(['group'], `holds ${ORGANIZATION}, and the folder of parquet has one group`)
      : []),
    ...Object.entries(unsplit)
      .filter(([, text]) => typeof text === 'string' && text.includes(ORGANIZATION))
      .map(([name]): [string, string] => [name, `holds ${ORGANIZATION}, which needs splitBy: organization`]),
  ]
}

const OF_FILES =
  'is about a copy in a file: remove it. Parquet and a bucket have a file or an object for each organization'

/** The settings with absolute paths; undefined where nothing is to be published. */
export function publishSettings(
  written: z.output<typeof publish> | undefined,
  folder: string,
): PublishSettings | undefined {
  if (written === undefined) return undefined
  const { to: address, group: owner, keep, splitBy, endpoint: service, region, withoutPersonalData = false } = written
  const absolute = (named: string | undefined) => (named === undefined ? undefined : resolve(folder, named))
  return {
    ...{ file: absolute(written.file), parquet: absolute(written.parquet), to: address },
    ...{ group: owner, keep, splitBy, endpoint: service, region, withoutPersonalData },
  }
}

function hasKnownPlaceholders(text: string): boolean {
  return !/[{}]/.test(text.replaceAll(ORGANIZATION, ''))
}
