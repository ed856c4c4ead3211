import { resolve } from 'node:path'
import { z } from 'zod'
import { isLikeAddress } from '../address/mirror-address.ts'
import { converted, namingFile, path, setting, whole } from './values.ts'

/** What is published for readers, as configured: a copy in a file, Parquet in a folder, objects in a bucket, or several of them. */
export type PublishSettings = {
  /** An absolute path. With `{organization}` in it there is a copy for each organization, with its own rows and nothing else. */
  file: string | undefined
  /** A folder, by its absolute path. */
  parquet: string | undefined
  to: BucketAddress | undefined
  group: string | number | undefined
  keep: number | undefined
  withoutPersonalData: boolean
  /** A page of figures beside each copy in a file. */
  report: boolean
}

/** What is replaced by the id of an organization in a file or a group. */
export const ORGANIZATION = '{organization}'

const place = path.refine(
  (text) => !isLikeAddress(text),
  'must be on this machine; a place in object storage is named as to',
)

const file = place
  .check(namingFile('./copies/customers.db'))
  .refine(hasKnownPlaceholders, `may hold ${ORGANIZATION}, and no other name in braces`)

const parquet = place
  .check(namingFile('./copies/parquet'))
  .refine((text) => !/[{}]/.test(text), 'must not hold braces: each organization has a folder of its own in it')

const GROUP = 'must be the name or the number of a group, such as analysts or 1005'

const group = z.union(
  [
    whole(0, 2 ** 32 - 2, GROUP),
    z
      .string()
      .regex(/^(?!-)[^\s:,/]{1,64}$/, GROUP)
      .refine(hasKnownPlaceholders, `may hold ${ORGANIZATION}, and no other name in braces`),
  ],
  GROUP,
)

export const publish = z
  .strictObject({
    file: setting(
      file,
      'The copy, in a folder of its own; relative to the folder of this configuration. With {organization} in its name there is one for each, ' +
        'with its own rows and nothing else. file, parquet or to is needed, or several of them.',
      { examples: ['./copies/customers.db', '/srv/copies/{organization}/customers.db'] },
    ),
    parquet: setting(parquet, 'A folder of its own, in which each organization has a Parquet file.', {
      examples: ['./copies/parquet'],
    }),
    to: setting(
      converted(parseBucketAddress),
      'A place in object storage: a Parquet object for each organization, and a manifest. AWS_ENDPOINT_URL_S3 names a service other than Amazon S3.',
      { examples: ['s3://analytics/customer-mirror'] },
    ),
    group: setting(
      group,
      'The group whose members may read the copy. Its name may hold {organization} where the file does.',
      { examples: ['analysts'] },
    ),
    keep: setting(
      whole(0, 1000),
      'How many older copies are kept beside it, each named by its time; others are removed.',
      { examples: [7] },
    ),
    withoutPersonalData: setting(
      z.boolean('must be true or false'),
      'Leaves personal data out, and lets every user of the machine read the copy.',
      { default: false },
    ),
    report: setting(
      z.boolean('must be true or false'),
      'Writes a page of figures beside each copy in a file, as customers.html beside customers.db: growth, changes, languages and companies, ' +
        'without personal data.',
      { default: false },
    ),
  })
  .superRefine((written, context) => {
    for (const [name, message] of contradictions(written)) context.addIssue({ code: 'custom', path: [name], message })
  })

type Written = Partial<Record<'file' | 'parquet' | 'to' | 'group' | 'keep' | 'report', unknown>>

/** Settings that make no sense together, each with its mistake. */
function contradictions({
  file: copy,
  parquet: folder,
  to,
  group: readers,
  keep,
  report,
}: Written): [string, string][] {
  if (copy === undefined && folder === undefined && to === undefined) return [['file', NOWHERE]]
  const isIn = (text: unknown) => typeof text === 'string' && text.includes(ORGANIZATION)
  const found: [isWrong: boolean, name: string, message: string][] = [
    [copy === undefined && keep !== undefined, 'keep', OF_FILES],
    [copy === undefined && report === true, 'report', OF_FILES],
    [copy === undefined && folder === undefined && readers !== undefined, 'group', OF_FILES],
    [
      copy !== undefined && isIn(readers) && !isIn(copy),
      'group',
      `holds ${ORGANIZATION}, and the name of the file does not`,
    ],
    [isIn(readers) && folder !== undefined, 'group', `holds ${ORGANIZATION}, and the folder of parquet has one group`],
  ]
  return found.flatMap(([isWrong, name, message]) => (isWrong ? [[name, message]] : []))
}

const NOWHERE = 'is missing: name the copy, a folder as parquet, or a place in object storage as to: s3://bucket/prefix'

const OF_FILES =
  'is about a copy in a file: remove it. Parquet and a bucket have a file or an object for each organization'

/** The settings with absolute paths; undefined where nothing is to be published. */
export function publishSettings(
  written: z.output<typeof publish> | undefined,
  folder: string,
): PublishSettings | undefined {
  if (written === undefined) return undefined
  const absolute = (named: string | undefined) => named && resolve(folder, named)
  const { to, group: readers, keep, withoutPersonalData = false, report = false } = written
  const places = { file: absolute(written.file), parquet: absolute(written.parquet), to }
  return { ...places, group: readers, keep, withoutPersonalData, report }
}

function hasKnownPlaceholders(text: string): boolean {
  return !/[{}]/.test(text.replaceAll(ORGANIZATION, ''))
}

/** A place in a bucket. The prefix has no slash at its ends, and is empty for the bucket itself. */
export type BucketAddress = { bucket: string; prefix: string }

/** Whether a text is meant as an address in object storage, and not as a path. */
export function isBucketAddress(text: string): boolean {
  return /^s3:/i.test(text)
}

/** `s3://bucket/prefix`, or a sentence about its mistake. */
export function parseBucketAddress(text: string): BucketAddress | { problem: string } {
  const [, bucket, end = ''] = /^s3:\/\/([^/]*)(?:\/(.*))?$/s.exec(text) ?? []
  if (bucket === undefined) return { problem: FORM }
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{1,61}[A-Za-z0-9]$/.test(bucket))
    return { problem: `${FORM}; the name of a bucket has 3 to 63 letters, digits, dots and dashes` }
  const prefix = end.replace(/\/+$/, '')
  const isClean = /^[A-Za-z0-9._=/-]*$/.test(prefix) && prefix.length <= LONGEST_PREFIX
  const hasGap = prefix !== '' && prefix.split('/').some((step) => ['', '.', '..'].includes(step))
  if (isClean && !hasGap) return { bucket, prefix }
  return {
    problem: `names a prefix that not every program reads: use letters, digits and . _ - = between single slashes, at most ${LONGEST_PREFIX}`,
  }
}

const FORM = 'must be an address such as s3://bucket/prefix'

/** Keys may have 1,024 bytes; this leaves room for the names of organizations and of objects. */
const LONGEST_PREFIX = 500

/** The address as a person writes it. */
export function bucketAddressText({ bucket, prefix }: BucketAddress): string {
  return prefix === '' ? `s3://${bucket}` : `s3://${bucket}/${prefix}`
}
