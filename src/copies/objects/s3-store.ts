import {
  AbortMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  type GetObjectCommandOutput,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  paginateListObjectsV2,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3'
import { Upload } from '@aws-sdk/lib-storage'
import { createReadStream } from 'node:fs'
import { bucketEnvironment, type BucketEnvironment, type Environment } from '../../config/environment.ts'
import { bucketAddressText } from '../../config/publish.ts'
import { UsageError } from '../../errors/errors.ts'
import type { BucketPlan } from '../publish-plan.ts'
import { errorNameOf, statusOf, storeError } from './store-error.ts'

/** What every object of customers begins with. */
export const OBJECTS = 'customers/'

/** The objects below a prefix of a bucket, by their keys there. Whatever the service refuses or cannot do is thrown as CopyFailed. */
export type ObjectStore = ReturnType<typeof openS3Store>

/** `text` is undefined where it is longer than any that this program writes. */
type StoredText = { text: string | undefined; version: string | undefined }
type UnfinishedUpload = { key: string; id: string }

/** How long one request may take before it is sent again, how often it is sent, how much of a file it carries, and how long a text may be. */
export type StoreLimits = { requestMs: number; attempts: number; partBytes: number; textBytes?: number }

/** The service takes parts from 5 MiB on, and 10,000 of them. */
const LIMITS: StoreLimits = { requestMs: 120_000, attempts: 4, partBytes: 8 * 1024 * 1024 }

/** Parts of a large object that are sent at the same time; so many are in memory. */
const PARTS_AT_ONCE = 4

/** Far more than a manifest of 100,000 organizations has. */
const TEXT_BYTES = 128 * 1024 * 1024

/**
 * Opens a bucket of Amazon S3, or of another service that speaks S3. Credentials are those of the environment, or else what its client
 * finds in the files and of the roles of Amazon. A request that fails for a moment is sent again, and one that the service refuses because of
 * this machine's clock is signed with the time of the service. Throws ConfigError for an endpoint in the environment with a mistake.
 */
export function openS3Store(settings: Pick<BucketPlan, 'to'>, environment: Environment, limits: StoreLimits = LIMITS) {
  const { bucket, prefix } = settings.to
  const shown = bucketAddressText(settings.to)
  const service = bucketEnvironment(environment)
  const at = service.endpoint === undefined ? shown : `${shown} at ${new URL(service.endpoint).host}`
  const client = clientOf(service, limits)
  const start = prefix === '' ? '' : `${prefix}/`
  const place = (key: string) => ({ Bucket: bucket, Key: start + key })
  const attempt = async <Result>(call: string, work: () => Promise<Result>): Promise<Result> => {
    try {
      return await work()
    } catch (error) {
      throw storeError(error, at, call)
    }
  }
  return {
    /** The prefix with its bucket, as a person writes it. */
    shown,
    // Not by HEAD: the answer to it has no body, which names why it was refused, and a policy may allow the list below the prefix alone.
    ask: () =>
      attempt('ListObjectsV2', async () => {
        const asked = { Bucket: bucket, Prefix: start + OBJECTS, MaxKeys: 1 }
        const { IsTruncated } = await client.send(new ListObjectsV2Command(asked))
        // The client takes any page of the web for an empty list; every list says this.
        if (IsTruncated === undefined) throw new UsageError(`${shown}: ${NO_LIST}`)
      }),
    /** The text of an object, with a mark of its version; undefined where there is none. */
    readText: (key: string) => attempt('GetObject', () => readText(client, place(key), limits.textBytes)),
    /**
     * Writes an object whose version is still this one, or that is not there yet where it is undefined. Returns false, and writes
     * nothing, where another process wrote it meanwhile.
     */
    replaceText: (key: string, text: string, version: string | undefined) =>
      attempt('PutObject', () => replaceText(client, place(key), text, version)),
    /**
     * Writes an object from an open file, in parts where it is large: no reader sees it before all of it is there, and parts that were sent
     * before a failure are removed. Returns false where another process, which published meanwhile, removed what was there of it.
     */
    upload: (key: string, { descriptor, bytes }: { descriptor: number; bytes: number }) =>
      attempt('PutObject', async () => {
        const Body = createReadStream('', { fd: descriptor, start: 0, end: bytes - 1, autoClose: false })
        const params = { ...place(key), Body, ContentType: 'application/vnd.apache.parquet' }
        try {
          await new Upload({ client, params, partSize: limits.partBytes, queueSize: PARTS_AT_ONCE }).done()
          return true
        } catch (error) {
          if (errorNameOf(error) === 'NoSuchUpload') return false
          throw error
        }
      }),
    /** The keys that begin so. */
    list: (from: string) =>
      attempt('ListObjectsV2', async () => {
        const keys: string[] = []
        const pages = { client, stopOnSameToken: true }
        for await (const page of paginateListObjectsV2(pages, { Bucket: bucket, Prefix: start + from }))
          for (const { Key } of page.Contents ?? [])
            if (Key?.startsWith(start + from) === true) keys.push(Key.slice(start.length))
        return keys
      }),
    remove: async (key: string) => {
      await attempt('DeleteObject', () => client.send(new DeleteObjectCommand(place(key))))
    },
    /** Uploads that were begun and not ended, of keys that begin so. */
    listUnfinished: (from: string) =>
      attempt('ListMultipartUploads', async () => {
        const found = await client.send(new ListMultipartUploadsCommand({ Bucket: bucket, Prefix: start + from }))
        return (found.Uploads ?? []).flatMap(({ Key, UploadId }): UnfinishedUpload[] =>
          Key?.startsWith(start + from) !== true || UploadId === undefined
            ? []
            : [{ key: Key.slice(start.length), id: UploadId }],
        )
      }),
    abandon: async ({ key, id }: UnfinishedUpload) => {
      const upload = { ...place(key), UploadId: id }
      await attempt('AbortMultipartUpload', () => client.send(new AbortMultipartUploadCommand(upload)))
    },
    close: () => client.destroy(),
  }
}

const NO_LIST =
  'what answers there is not a service that speaks S3: it may be a web page, such as the console of MinIO. Correct AWS_ENDPOINT_URL_S3.'

/** Buckets are named in the path where an endpoint is named: few such services give each bucket a host. */
function clientOf(found: BucketEnvironment, { requestMs, attempts }: StoreLimits): S3Client {
  const { endpoint, credentials, region = endpoint === undefined ? undefined : 'us-east-1' } = found
  const client = new S3Client({
    ...(endpoint !== undefined && { endpoint, forcePathStyle: true }),
    ...(region !== undefined && { region }),
    ...(credentials !== undefined && { credentials }),
    maxAttempts: attempts,
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: {
      connectionTimeout: Math.min(10_000, requestMs),
      requestTimeout: requestMs,
      socketTimeout: requestMs,
      throwOnRequestTimeout: true,
    },
  })
  endLongAnswers(client, 2 * requestMs)
  return client
}

/** The limits of the client end when an answer begins, and one that comes byte by byte would never end. */
function endLongAnswers({ config: { requestHandler } }: S3Client, limitMs: number): void {
  const handle = requestHandler.handle.bind(requestHandler)
  requestHandler.handle = (request, options) =>
    handle(request, { ...options, abortSignal: AbortSignal.timeout(limitMs) })
}

/** The text of an object; undefined for one that is longer than that. */
async function textOf({ Body }: GetObjectCommandOutput, textBytes: number): Promise<string | undefined> {
  if (Body === undefined) return ''
  const chunks: Uint8Array[] = []
  let bytes = 0
  // Leaving the loop ends the answer.
  for await (const chunk of Body.transformToWebStream()) {
    bytes += chunk.length
    if (bytes > textBytes) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

async function readText(client: S3Client, place: Place, textBytes = TEXT_BYTES): Promise<StoredText | undefined> {
  try {
    const found = await client.send(new GetObjectCommand(place))
    return { text: await textOf(found, textBytes), version: found.ETag }
  } catch (error) {
    if (errorNameOf(error) === 'NoSuchKey') return undefined
    throw error
  }
}

/**
 * The version is looked at again right before, because some services take a condition and do not apply it. One that refuses conditions
 * gets the object without one.
 */
async function replaceText(
  client: S3Client,
  place: Place,
  text: string,
  version: string | undefined,
): Promise<boolean> {
  const isOther = async () => (await readText(client, place))?.version !== version
  if (await isOther()) return false
  const object = { ...place, Body: text, ContentType: 'application/json' }
  const condition = version === undefined ? { IfNoneMatch: '*' } : { IfMatch: version }
  try {
    await client.send(new PutObjectCommand({ ...object, ...condition }))
    return true
  } catch (error) {
    const name = errorNameOf(error)
    // Where it was deleted meanwhile, there is no object to match.
    const isOvertaken = statusOf(error) === 412 || name === 'ConditionalRequestConflict' || name === 'NoSuchKey'
    // The answer to a first attempt may have been lost on its way, after the service had written the object.
    if (isOvertaken) return (await readText(client, place))?.text === text
    if (name !== 'NotImplemented') throw error
  }
  if (await isOther()) return false
  await client.send(new PutObjectCommand(object))
  return true
}

/** The place of an object. */
type Place = { Bucket: string; Key: string }
