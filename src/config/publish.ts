import { resolve } from 'node:path'
import { z } from 'zod'
import { isLikeAddress } from '../address/mirror-address.ts'
import { converted, namingFile, path, refusing, setting, whole } from './values.ts'

/** What is replaced by the id of an organization in a file or a group. */
export const ORGANIZATION = '{organization}'

const place = path.refine(
  (text) => !isLikeAddress(text),
  'must be on this machine; a place in object storage is named as to',
)

const placeholders = refusing((text) => {
  const isKnown = !/[{}]/.test(text.replaceAll(ORGANIZATION, ''))
  return isKnown ? undefined : `may hold ${ORGANIZATION}, and no other name in braces`
})

const file = place.check(namingFile('./copies/customers.db'), placeholders)

const parquet = place
  .check(namingFile('./copies/parquet'))
  .refine((text) => !/[{}]/.test(text), 'must not hold braces: each organization has a folder of its own in it')

const GROUP = 'must be the name or the number of a group, such as analysts or 1005'

const groupName = z
  .string()
  .regex(/^(?!-)[^\s:,/]{1,64}$/, GROUP)
  .check(placeholders)

const group = z.union([whole(0, 2 ** 32 - 2, GROUP), groupName], GROUP)

const yesOrNo = z.boolean('must be true or false')

export const publish = z
  .strictObject({
    file: setting(
      file,
      'The copy, in a folder of its own; relative to the folder of this configuration. With {organization} in its name there is one for each, ' +
        'with its own rows and nothing else. file, parquet or to is needed, or several of them. Set it for readers of SQL.',
      { examples: ['./copies/customers.db', '/srv/copies/{organization}/customers.db'] },
    ),
    parquet: setting(
      parquet,
      'A folder of its own, in which each organization has a Parquet file. Set it for readers of DuckDB and the like.',
      { examples: ['./copies/parquet'] },
    ),
    to: setting(
      converted(parseBucketAddress),
      'A place in object storage: a Parquet object for each organization, and a manifest. AWS_ENDPOINT_URL_S3 names a service other than ' +
        'Amazon S3. Set it for readers elsewhere.',
      { examples: ['s3://analytics/customer-mirror'] },
    ),
    group: setting(
      group,
      'The group whose members may read the copy. Its name may hold {organization} where the file does. Set it where they are other users.',
      { examples: ['analysts'] },
    ),
    keep: setting(
      whole(0, 1000),
      'How many older copies are kept beside it, each named by its time; others are removed. Set it where nights are compared.',
      { examples: [7] },
    ),
    withoutPersonalData: setting(
      yesOrNo,
      'Leaves personal data out, and lets every user of the machine read the copy. Set it where figures are enough.',
      { default: false },
    ),
    report: setting(
      yesOrNo,
      'Writes a page of figures beside each copy in a file, as customers.html beside customers.db: growth, changes, languages and companies, ' +
        'without personal data. Set it for readers without SQL.',
      { default: false },
    ),
  })
  .superRefine((written, context) => {
    for (const [name, message] of contradictions(written)) context.addIssue({ code: 'custom', path: [name], message })
  })

function contradictions(written: Readonly<Record<string, unknown>>): [name: string, message: string][] {
  const has = (name: string) => written[name] !== undefined
  const isForEach = (name: string) => String(written[name]).includes(ORGANIZATION)
  if (!has('file') && !has('parquet') && !has('to')) return [['file', NOWHERE]]
  const found: [isWrong: boolean, name: string, message: string][] = [
    [!has('file') && has('keep'), 'keep', OF_FILES],
    [!has('file') && written['report'] === true, 'report', OF_FILES],
    [!has('file') && !has('parquet') && has('group'), 'group', OF_FILES],
    [has('file') && isForEach('group') && !isForEach('file'), 'group', `holds ${ORGANIZATION}, and file does not`],
    [has('parquet') && isForEach('group'), 'group', `holds ${ORGANIZATION}, and the folder of parquet has one group`],
  ]
  return found.flatMap(([isWrong, name, message]) => (isWrong ? [[name, message]] : []))
}

const NOWHERE = 'is missing: name the copy, a folder as parquet, or a place in object storage as to: s3://bucket/prefix'

const OF_FILES =
  'is about a copy in a file: remove it. Parquet and a bucket have a file or an object for each organization'

/** What is published for readers: a copy in a file, Parquet in a folder, objects in a bucket, or several of them. Paths are absolute. */
export type PublishSettings = NonNullable<ReturnType<typeof publishSettings>>

export function publishSettings(written: z.output<typeof publish> | undefined, folder: string) {
  if (written === undefined) return undefined
  const absolute = (named: string | undefined) => named && resolve(folder, named)
  const paths = { file: absolute(written.file), parquet: absolute(written.parquet) }
  return { withoutPersonalData: false, report: false, ...written, ...paths }
}

/** A place in a bucket. The prefix has no slash at its ends, and is empty for the bucket itself. */
export type BucketAddress = { bucket: string; prefix: string }

/** Whether a text is meant as an address in object storage, and not as a path. */
export const isBucketAddress = (text: string): boolean => /^s3:/i.test(text)

/** `s3://bucket/prefix`, or a sentence about its mistake. */
export function parseBucketAddress(text: string): BucketAddress | { problem: string } {
  const [, bucket, end = ''] = /^s3:\/\/([a-z0-9][a-z0-9._-]{1,61}[a-z0-9])(?:\/([a-z0-9._=/-]*))?$/i.exec(text) ?? []
  const prefix = end.replace(/\/+$/, '')
  const hasGap = prefix !== '' && prefix.split('/').some((step) => ['', '.', '..'].includes(step))
  // Keys may have 1,024 bytes; the names of organizations and of objects follow.
  return bucket === undefined || hasGap || prefix.length > 500 ? { problem: FORM } : { bucket, prefix }
}

const FORM =
  'must be an address such as s3://bucket/prefix, and a prefix of at most 500 letters, digits and . _ - = between single slashes'

export function bucketAddressText({ bucket, prefix }: BucketAddress): string {
  return prefix === '' ? `s3://${bucket}` : `s3://${bucket}/${prefix}`
}
