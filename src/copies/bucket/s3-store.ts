import {
  AbortMultipartUploadCommand,
  type CompletedPart,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  type GetObjectCommandOutput,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  paginateListObjectsV2,
  PutObjectCommand,
  S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3'
import { createHash } from 'node:crypto'
import { readSync } from 'node:fs'
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

export type StoreSettings = Pick<BucketPlan, 'to'>

/** How long one request may take before it is sent again, how often it is sent, how much of a file it carries, and how long a text may be. */
export type StoreLimits = { requestMs: number; attempts: number; partBytes: number; textBytes?: number }

/** The service takes parts from 5 MiB on, and 10,000 of them. */
const LIMITS: StoreLimits = { requestMs: 120_000, attempts: 4, partBytes: 8 * 1024 * 1024 }

/** Far more than a manifest of 100,000 organizations has. */
const TEXT_BYTES = 128 * 1024 * 1024

/**
 * Opens a bucket of Amazon S3, or of another service that speaks S3. Credentials are those of the environment, or else what its client
 * finds in the files and of the roles of Amazon. A request that fails for a moment is sent again, and one that the service refuses because of
 * this machine's clock is signed with the time of the service. Throws ConfigError for an endpoint in the environment with a mistake. Checksums are MD5, which every such service compares.
 */
export function openS3Store(settings: StoreSettings, environment: Environment, limits: StoreLimits = LIMITS) {
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
     * Writes an object from an open file: no reader sees it before all of it is there. Returns false where another process, which
     * published meanwhile, removed what was there of it.
     */
    upload: (key: string, file: Omit<OpenFile, 'partBytes'>) =>
      attempt('PutObject', () => uploadFile(client, place(key), { ...file, partBytes: limits.partBytes })),
    /** Whether there is an object of that many bytes; of any size where it is undefined. */
    has: (key: string, bytes: number | undefined) => attempt('HeadObject', () => has(client, place(key), bytes)),
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

async function has(client: S3Client, place: Place, bytes: number | undefined): Promise<boolean> {
  try {
    const { ContentLength } = await client.send(new HeadObjectCommand(place))
    return bytes === undefined || ContentLength === bytes
  } catch (error) {
    if (statusOf(error) === 404) return false
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
  const object = { ...place, Body: text, ContentType: 'application/json', ContentMD5: md5Of(text) }
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
type OpenFile = { descriptor: number; bytes: number; partBytes: number }

/**
 * Writes an object from an open file, in parts where it is large, one of which is in memory. A reader sees all of it or nothing; parts that were
 * sent before a failure are removed. Returns false where another process removed them meanwhile.
 */
async function uploadFile(client: S3Client, place: Place, file: OpenFile): Promise<boolean> {
  const type = { ContentType: 'application/vnd.apache.parquet' }
  if (file.bytes <= file.partBytes) {
    await client.send(new PutObjectCommand({ ...place, ...type, ...partOf(file, 0) }))
    return true
  }
  const { UploadId } = await client.send(new CreateMultipartUploadCommand({ ...place, ...type }))
  const upload = { ...place, UploadId }
  try {
    const Parts: CompletedPart[] = []
    for (let position = 0; position < file.bytes; position += file.partBytes) {
      const PartNumber = Parts.length + 1
      const { ETag } = await client.send(new UploadPartCommand({ ...upload, ...partOf(file, position), PartNumber }))
      Parts.push({ PartNumber, ETag })
    }
    await client.send(new CompleteMultipartUploadCommand({ ...upload, MultipartUpload: { Parts } }))
    return true
  } catch (error) {
    if (errorNameOf(error) === 'NoSuchUpload') return false
    await client.send(new AbortMultipartUploadCommand(upload)).catch(() => undefined)
    throw error
  }
}

function partOf({ descriptor, bytes, partBytes }: OpenFile, position: number): { Body: Buffer; ContentMD5: string } {
  const Body = Buffer.alloc(Math.min(partBytes, bytes - position))
  for (let filled = 0; filled < Body.length;) {
    const read = readSync(descriptor, Body, filled, Body.length - filled, position + filled)
    if (read === 0) throw new Error('a temporary file is shorter than what was written to it')
    filled += read
  }
  return { Body, ContentMD5: md5Of(Body) }
}

/** The checksum of a content, as a service compares it. */
function md5Of(content: string | Buffer): string {
  return createHash('md5').update(content).digest('base64')
}
