import { openSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pLimit from 'p-limit'
import { CopyFailed, factsOf, isOurs } from '../../errors/errors.ts'
import { atPlace } from '../copy-error.ts'
import { privateName, removeFile } from '../written-file.ts'
import {
  type FoundPlace,
  manifestText,
  newObject,
  partitionFolder,
  readManifestText,
  type Swept,
} from './object-place.ts'
import { OBJECTS, type ObjectStore } from './s3-store.ts'

const MANIFEST = 'manifest.json'

/**
 * Looks at a prefix of a bucket. Its manifest is written last, as a whole, and only where nothing else was published meanwhile. Throws UsageError
 * for a manifest that this program did not write, and CopyFailed, with the code busy where it must be begun anew.
 */
export async function lookAtBucket(store: ObjectStore): Promise<FoundPlace> {
  const { shown } = store
  const found = await store.readText(MANIFEST)
  const content = found && readManifestText(found.text, `${shown}/${MANIFEST}`)
  const keys = new Set(await store.list())
  // A rule of the bucket or a person deleted the others: they are made again.
  const isThere = ({ object }: { object: string }) => keys.has(object)
  const organizations = content?.organizations.filter(isThere) ?? []
  const manifest = content && { ...content, organizations, replaced: content.replaced.filter(isThere) }
  const generation = Math.max(content?.generation ?? 0, ...[...keys].map((key) => generationOf(key) ?? 0)) + 1
  return {
    ...{ shown, generation, manifest },
    begin(organization) {
      const folder = tmpdir()
      const path = privateName(join(folder, 'customers.parquet'))
      const descriptor = atPlace(folder, () => {
        const made = openSync(path, 'wx+', 0o600)
        // Without a name, a kill leaves nothing of it.
        removeFile(path)
        return made
      })
      return newObject({ descriptor, folder }, async ({ bytes, sha256 }) => {
        const key = objectKey(organization, generation, sha256)
        await store.upload(key, { descriptor, bytes })
        return key
      })
    },
    async finish(next, isNew) {
      const there = isNew ? new Set(await store.list()) : keys
      const isWhole = next.organizations.every(({ object }) => there.has(object))
      if (!isWhole || (isNew && !(await store.replaceText(MANIFEST, manifestText(next), found?.version))))
        throw new CopyFailed(`${shown}: ${CHANGED}`, { code: 'busy' })
      const named = new Set([...next.organizations, ...next.replaced].map(({ object }) => object))
      const isOver = (key: string) =>
        (generationOf(key) ?? Infinity) <= (isNew ? generation : (content?.generation ?? 0))
      const over = [...there].filter((key) => isOver(key) && !named.has(key))
      return isNew || over.length > 0 ? sweep(store, over, isOver) : { warnings: [], isLeft: false }
    },
    close: () => {},
  }
}

const CHANGED =
  'what is there changed meanwhile: another process published there, or objects that were just written are not there. What was published before is ' +
  'unchanged. Let one mirror publish to a prefix, and let AWS_ENDPOINT_URL_S3 name the service itself, without a proxy that changes an ETag.'

/**
 * The key of an object below the prefix, such as `customers/organization=acme/customers-0000000012-9f2b….parquet`. Generations count the
 * manifests, so that of two objects of an organization the newer one is the last by name. The digest keeps two processes that publish
 * at once from writing the same object.
 */
function objectKey(organization: string, generation: number, sha256: string): string {
  return `${OBJECTS}${partitionFolder(organization)}/customers-${String(generation).padStart(10, '0')}-${sha256.slice(0, 16)}.parquet`
}

/**
 * The generation in such a key; undefined for objects that this program did not write. With more digits, the next number would not be exact,
 * and a manifest with it could not be read again.
 */
function generationOf(key: string): number | undefined {
  const [, digits] = /^customers\/organization=[^/]+\/customers-(\d{10,15})-[0-9a-f]{16}\.parquet$/.exec(key) ?? []
  return digits === undefined ? undefined : Number(digits)
}

/**
 * Removes objects that the manifest, which is in its place, does not name: those that it has replaced, and what was left by a process that was
 * killed. Uploads that were not ended go too. What cannot be removed is a warning.
 */
async function sweep(store: ObjectStore, keys: readonly string[], isOver: (key: string) => boolean): Promise<Swept> {
  const limit = pLimit(8)
  try {
    await limit.map(keys, (key) => store.remove(key))
    // Also one of an object that is named: it is there already, by another upload of the same.
    await store.abandonUploads(isOver)
    return { warnings: [], isLeft: false }
  } catch (error) {
    if (!isOurs(error)) throw error
    const warning = `${store.shown}: it is published, but objects from before could not be removed. ${error.message}`
    return { warnings: [warning], isLeft: factsOf(error).again !== 'never' }
  }
}
