import { z } from 'zod'
import { CopyFailed, UsageError } from '../../errors/errors.ts'
import { parsedJson } from '../../text/parsed-json.ts'
import { manifestOf, publishedFile } from '../object-manifest.ts'
import { partitionFolder } from '../partition-folder.ts'
import { type ObjectStore, OBJECTS } from './s3-store.ts'

/** The manifest of a prefix. */
export const MANIFEST = 'manifest.json'

/**
 * The key of an object below the prefix, such as `customers/organization=acme/customers-0000000012-9f2b….parquet`. Generations count the
 * manifests, so that of two objects of an organization the newer one is the last by name. The digest keeps two processes that publish
 * at once from writing the same object.
 */
export function objectKey(organization: string, generation: number, sha256: string): string {
  return `${OBJECTS}${partitionFolder(organization)}/customers-${String(generation).padStart(10, '0')}-${sha256.slice(0, 16)}.parquet`
}

/**
 * The generation in such a key; undefined for objects that this program did not write. With more digits, the next number would not be exact,
 * and a manifest with it could not be read again.
 */
export function generationOf(key: string): number | undefined {
  const [, digits] = /^customers\/organization=[^/]+\/customers-(\d{10,15})-[0-9a-f]{16}\.parquet$/.exec(key) ?? []
  return digits === undefined ? undefined : Number(digits)
}

const manifestSchema = manifestOf(publishedFile, z.object({ object: z.string(), since: z.string() })).extend({
  /** Counts the manifests of this prefix. */
  generation: z.int().min(1),
  written_at: z.string(),
  without_personal_data: z.boolean(),
})

/** `replaced` are objects of earlier manifests, which stay a little while for readers that began with those, and since when. */
export type BucketManifest = z.output<typeof manifestSchema>

/** What a manifest says, without what every one of this version says of itself. */
export type ManifestContent = Pick<
  BucketManifest,
  'generation' | 'written_at' | 'without_personal_data' | 'organizations' | 'replaced'
>

/** A manifest as it was found, with the mark of its version; neither where there is none yet. */
export type FoundManifest = { content: BucketManifest | undefined; version: string | undefined }

/**
 * Throws UsageError for an object of that name that this program did not write, or that another version of it wrote; CopyFailed for an empty
 * answer, since this program writes none.
 */
export async function readBucketManifest(store: ObjectStore): Promise<FoundManifest> {
  const place = `${store.shown}/${MANIFEST}`
  const found = await store.readText(MANIFEST)
  if (found === undefined) return { content: undefined, version: undefined }
  if (found.text?.trim() === '')
    throw new CopyFailed(
      `${place}: was answered without any content. What was published before is unchanged. A proxy on the way may leave out the content of an ` +
        'answer: let AWS_ENDPOINT_URL_S3 name the service itself. If the object is empty there too, remove it.',
      { code: 'gone' },
    )
  const parsed = manifestSchema.safeParse(parsedJson(found.text ?? ''))
  if (parsed.success) return { content: parsed.data, version: found.version }
  const what =
    found.text === undefined ? 'is longer than any manifest' : 'was not written by this version of Customer Mirror'
  throw new UsageError(
    `${place}: ${what}. It was left as it is; name another prefix, or remove it if what is there may be replaced.`,
  )
}
