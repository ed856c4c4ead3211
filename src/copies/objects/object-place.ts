import { z } from 'zod'
import { UsageError } from '../../errors/errors.ts'
import { parsedJson } from '../../text/parsed-json.ts'

/* A place with an object for each organization, a file or an object in a bucket, and the manifest that names them. Its times are ISO 8601 in UTC. */

export type FoundPlace = {
  shown: string
  /** What its manifest says, without the objects that are gone; undefined where there is none. */
  manifest: Manifest | undefined
  /** The number of the manifest that is written next. */
  generation: number
  /** Begins an object in a private file of `folder`, open as `descriptor`. `put`, after all of it is written, returns the name that it gets. */
  begin(organization: string): { descriptor: number; folder: string; put: (written: Written) => Promise<string> }
  /** Makes this the manifest, if it is new, and removes what none names; `isLeft` where a later publish may remove more. */
  finish(content: Manifest, isNew: boolean): Promise<{ warnings: string[]; isLeft: boolean }>
  close(): void
}

type Written = Pick<PublishedObject, 'bytes' | 'sha256'>

const publishedObject = z.object({
  organization: z.string(),
  /** Its path within the folder, or its key below the prefix. */
  object: z.string(),
  rows: z.number(),
  active: z.number(),
  /** Equal as long as the mirror holds the same rows in the same columns. */
  state: z.string(),
  bytes: z.number(),
  sha256: z.string(),
  /** The run that read the list to its end last, what it proved, and when it began. */
  run: z.number(),
  proof: z.string(),
  read_as_of: z.string(),
  proven_as_of: z.string().nullable(),
  /** The latest run that changed anything. */
  last_run: z.number(),
  last_status: z.string(),
  /** The number of the customer who was forgotten last, 0 while there is none. */
  forgotten: z.number(),
})
export type PublishedObject = z.output<typeof publishedObject>

const manifest = z.object({
  program: z.literal('customer-mirror'),
  version: z.literal(1),
  /** Counts the manifests of this place. */
  generation: z.int().min(1),
  written_at: z.string(),
  without_personal_data: z.boolean(),
  organizations: z.array(publishedObject),
  /** Objects of earlier manifests that are there still, and since when they are replaced. */
  replaced: z.array(z.object({ object: z.string(), since: z.string().optional() })),
})
export type Manifest = z.output<typeof manifest>

/** The manifest that was stored at a place. Throws UsageError for any other text. */
export function readManifestText(text: string, place: string): Manifest {
  const { data } = manifest.safeParse(parsedJson(text))
  if (data !== undefined) return data
  throw new UsageError(
    `${place}: was not written by this version of this program. It was left as it is; name another prefix or folder, or remove it if what is ` +
      'there may be replaced.',
  )
}

export function manifestText(content: Manifest): string {
  return `${JSON.stringify(content, null, 2)}\n`
}

/** The folder of an organization, as Hive names it. */
export function partitionFolder(organization: string): string {
  const asHex = (character: string) => `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`
  return `organization=${organization === '' ? '__HIVE_DEFAULT_PARTITION__' : organization.replaceAll(ESCAPED, asHex)}`
}

// oxlint-disable-next-line no-control-regex -- control characters are among them
const ESCAPED = /[\x00-\x1F\x7F"#%'*/:=?\\{}[\]^]/g
