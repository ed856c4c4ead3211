import { createReadStream, openSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { paginateListObjectsV2, S3 } from '@aws-sdk/client-s3'
import { Upload } from '@aws-sdk/lib-storage'
import pLimit from 'p-limit'
import { z } from 'zod'
import { bucketEnvironment, type Environment } from '../../config/environment.ts'
import { bucketAddressText } from '../../config/publish.ts'
import { atPlace, copyFault } from '../copy-error.ts'
import { type FoundPlace, manifestText, partitionFolder, readManifestText } from './object-place.ts'
import type { BucketPlan } from '../publish-plan.ts'
import { privateName, removeFile } from '../written-file.ts'
import { CopyFailed, factsOf, type Fault, isOurs } from '../../errors/errors.ts'
import { codeOf, tlsFailure } from '../../errors/faults.ts'

const MANIFEST = 'manifest.json'

/** Looks at a prefix of a bucket. Throws UsageError for the manifest of another program, and CopyFailed, `busy` to begin anew. */
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
      return {
        ...{ descriptor, folder },
        async put({ bytes, sha256 }) {
          // The last by name is the newest; the digest tells two processes apart.
          const name = `customers-${String(generation).padStart(10, '0')}-${sha256.slice(0, 16)}.parquet`
          const key = `${OBJECTS}${partitionFolder(organization)}/${name}`
          await store.upload(key, { descriptor, bytes })
          return key
        },
      }
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

/** The generation in the key of an object; undefined for those of other programs. With more digits, the next number would not be exact. */
function generationOf(key: string): number | undefined {
  const [, digits] = /^customers\/organization=[^/]+\/customers-(\d{10,15})-[0-9a-f]{16}\.parquet$/.exec(key) ?? []
  return digits === undefined ? undefined : Number(digits)
}

/** Removes objects that the manifest in its place does not name, and uploads that were not ended. What cannot be removed is a warning. */
async function sweep(store: ObjectStore, keys: readonly string[], isOver: (key: string) => boolean) {
  try {
    await pLimit(8).map(keys, (key) => store.remove(key))
    // Also one of an object that is named: it is there already, by another upload of the same.
    await store.abandonUploads(isOver)
    return { warnings: [], isLeft: false }
  } catch (error) {
    if (!isOurs(error)) throw error
    const warning = `${store.shown}: it is published, but objects from before could not be removed. ${error.message}`
    return { warnings: [warning], isLeft: factsOf(error).again !== 'never' }
  }
}

const OBJECTS = 'customers/'

/** The objects below a prefix of a bucket, by their keys there. Whatever the service refuses or cannot do is thrown as CopyFailed. */
type ObjectStore = ReturnType<typeof openS3Store>

/** How long a request may take before it is sent again, how often it is sent, and the size of a part, 5 MiB or more: four are in memory. */
const LIMITS = { requestMs: 120_000, attempts: 4, partBytes: 8 * 1024 * 1024 }

export type StoreLimits = typeof LIMITS

/** Opens a bucket by credentials of the environment, or those its client finds, which also retries. Throws ConfigError for an endpoint. */
export function openS3Store(settings: Pick<BucketPlan, 'to'>, environment: Environment, limits = LIMITS) {
  const { bucket, prefix } = settings.to
  const shown = bucketAddressText(settings.to)
  const { endpoint, credentials, region = endpoint && 'us-east-1' } = bucketEnvironment(environment)
  const at = endpoint === undefined ? shown : `${shown} at ${new URL(endpoint).host}`
  const client = new S3({
    // Buckets are named in the path where an endpoint is named: few such services give each bucket a host.
    ...(endpoint !== undefined && { endpoint, forcePathStyle: true }),
    ...(region !== undefined && { region }),
    ...(credentials !== undefined && { credentials }),
    maxAttempts: limits.attempts,
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: {
      connectionTimeout: Math.min(10_000, limits.requestMs),
      requestTimeout: limits.requestMs,
      socketTimeout: limits.requestMs,
      throwOnRequestTimeout: true,
    },
  })
  const start = prefix === '' ? '' : `${prefix}/`
  const place = (key: string) => ({ Bucket: bucket, Key: start + key })
  const ofCustomers = { Bucket: bucket, Prefix: start + OBJECTS }
  const keysOf = (keys: readonly (string | undefined)[]) =>
    keys.flatMap((key) => (key?.startsWith(start + OBJECTS) === true ? [key.slice(start.length)] : []))
  const attempt = <Result>(call: string, work: () => Promise<Result>): Promise<Result> =>
    work().catch((error: unknown) => {
      throw storeError(error, at, call)
    })
  /** The text of an object, with a mark of its version; undefined where there is none. */
  const readText = (key: string) =>
    attempt('GetObject', async () => {
      try {
        const { Body, ETag } = await client.getObject(place(key))
        return { text: (await Body?.transformToString()) ?? '', version: ETag }
      } catch (error) {
        if (errorNameOf(error) === 'NoSuchKey') return undefined
        throw error
      }
    })
  return {
    shown,
    // Not by HEAD: the answer to it has no body, which names why it was refused, and a policy may allow the list below the prefix alone.
    ask: () => attempt('ListObjectsV2', () => client.listObjectsV2({ ...ofCustomers, MaxKeys: 1 })),
    readText,
    /** Writes an object that still has this version (undefined: is not there yet); false where another process wrote it meanwhile. */
    replaceText: (key: string, text: string, version: string | undefined) =>
      attempt('PutObject', async () => {
        // Some services take a condition and do not apply it.
        if ((await readText(key))?.version !== version) return false
        const condition = version === undefined ? { IfNoneMatch: '*' } : { IfMatch: version }
        const object = { ...place(key), Body: text, ContentType: 'application/json', ...condition }
        try {
          await client.putObject(object)
          return true
        } catch (error) {
          // Where it was deleted meanwhile, there is no object to match.
          const isOvertaken = ['ConditionalRequestConflict', 'NoSuchKey'].includes(errorNameOf(error))
          if (!isOvertaken && statusOf(error) !== 412) throw error
          // The answer to a first attempt may have been lost on its way, after the service had written the object.
          return (await readText(key))?.text === text
        }
      }),
    /** Writes an object from an open file, seen only as a whole. Throws CopyFailed `busy` where another process removed parts of it. */
    upload: (key: string, { descriptor, bytes }: { descriptor: number; bytes: number }) =>
      attempt('PutObject', async () => {
        const Body = createReadStream('', { fd: descriptor, start: 0, end: bytes - 1, autoClose: false })
        const params = { ...place(key), Body, ContentType: 'application/vnd.apache.parquet' }
        await new Upload({ client, params, partSize: limits.partBytes }).done()
      }),
    list: () =>
      attempt('ListObjectsV2', async () => {
        // It writes into what it is given.
        const pages = paginateListObjectsV2({ client, stopOnSameToken: true }, { ...ofCustomers })
        const objects = (await Array.fromAsync(pages)).flatMap(({ Contents = [] }) => Contents)
        return keysOf(objects.map(({ Key }) => Key))
      }),
    remove: (key: string) => attempt('DeleteObject', () => client.deleteObject(place(key))),
    abandonUploads: async (isOver: (key: string) => boolean) => {
      const { Uploads = [] } = await attempt('ListMultipartUploads', () => client.listMultipartUploads(ofCustomers))
      for (const { Key, UploadId } of Uploads)
        for (const key of keysOf([Key]).filter(isOver))
          await attempt('AbortMultipartUpload', () => client.abortMultipartUpload({ ...place(key), UploadId }))
    },
    close: () => client.destroy(),
  }
}

/** The name that the client gives an error: the code in the answer of the service, or that of the system. */
function errorNameOf(error: unknown): string {
  const code = codeOf(error) ?? ''
  if (/^[A-Z][A-Z\d_]+$/.test(code)) return code
  return error instanceof Error ? error.name : ''
}

const answered = z.object({ $metadata: z.object({ httpStatusCode: z.number() }) })

function statusOf(error: unknown): number | undefined {
  return answered.safeParse(error).data?.$metadata.httpStatusCode
}

/** What a bucket could not do, as CopyFailed or UsageError; errors of ours unchanged. It names a code of the service: its words may quote secrets. */
export function storeError(error: unknown, shown: string, call: string): unknown {
  if (isOurs(error) || !(error instanceof Error)) return error
  const [name, status] = [errorNameOf(error), statusOf(error)]
  const tls = tlsFailure(name, error.message)
  const fault = tls === undefined ? faultOf(error, name, status) : 'denied'
  const ofClient = fault === 'gone' ? 'no answer' : (error.message.split('\n')[0] ?? '').replace(/\.$/, '')
  const what = tls?.what ?? (status === undefined ? ofClient : 'the service refused a request')
  const facts = [call, name === 'Error' ? undefined : name, status].filter((each) => each !== undefined).join(', ')
  const fix = tls === undefined ? '' : `. ${tls.fix.replace(/\.$/, '')}`
  return copyFault(shown, { fault, said: `${what} (${facts})${fix}` }, { where: 'bucket', cause: error })
}

function faultOf(error: Error, name: string, status: number | undefined): Fault {
  if (name === 'NoSuchUpload') return 'busy'
  if (status === undefined) {
    const isOfNetwork = /^(E(?!RR_)[A-Z_]+|HPE_[A-Z_]+|TimeoutError|AbortError)$/.test(name)
    return isOfNetwork && !('syscall' in error && error.syscall === 'open') ? 'gone' : 'denied'
  }
  if (status === 507 || /QuotaExceeded|StorageFull|InsufficientStorage|^EntityTooLarge$/i.test(name)) return 'full'
  // What succeeded and cannot be read: its end is missing, or a proxy has put its own answer in its place.
  const isCut = status < 300
  return isCut || status >= 500 || [408, 429, 499].includes(status) || MOMENTARY.test(name) ? 'gone' : 'denied'
}

/** What another attempt may do, whatever the status: a connection too slow for the service, others who change the same, a broken transfer. */
const MOMENTARY =
  /^(RequestTimeout|IncompleteBody|OperationAborted|ConditionalRequestConflict|BadDigest|InvalidDigest|XAmzContentSHA256Mismatch)$|Throttl/
