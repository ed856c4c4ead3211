import { createHash, randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { Upload } from '@aws-sdk/lib-storage'
import { expect } from 'vitest'
import type { StoreLimits } from '../../src/copies/objects/bucket.ts'
import { type Manifest, readManifestText } from '../../src/copies/objects/object-place.ts'
import { publishBucket } from '../../src/copies/objects/publish-objects.ts'
import type { BucketPlan, Published } from '../../src/copies/publish-plan.ts'
import { night } from '../store/nights.ts'
import { aCustomer, customers } from './builders.ts'
import { listenHere } from './fault-server.ts'
import { aMirrorOfTwo } from './publishing.ts'

/** A request to the bucket. `key` is empty for one to the bucket itself. */
export type BucketRequest = {
  method: string
  key: string
  query: URLSearchParams
  headers: IncomingMessage['headers']
  body: Buffer
}

/** Answers a request in place of the bucket; returns false for those that the bucket is to answer. */
export type Fault = (request: BucketRequest, response: ServerResponse) => boolean | Promise<boolean>

export type BucketServer = {
  objects: Map<string, Buffer>
  /** The parts of uploads that were begun and not ended, by key and id. */
  uploads: Map<string, { key: string; parts: Map<number, Buffer> }>
  requests: BucketRequest[]
  fault: Fault | undefined
  /** What the environment of a program needs to reach it. */
  env: Record<string, string>
}

export const BUCKET = 'analytics'

/** A service that speaks as much of S3 as is published with, for one bucket, and misbehaves as told. It does not see the `ignores`. */
export async function aBucketServer({ ignores = [] }: { ignores?: readonly string[] } = {}): Promise<BucketServer> {
  const bucket: BucketServer = { objects: new Map(), uploads: new Map(), requests: [], fault: undefined, env: {} }
  const answer = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { pathname, searchParams: query } = new URL(incoming.url ?? '/', 'http://bucket')
    const [, name = '', key = ''] = /^\/([^/]*)\/?(.*)$/s.exec(decodeURIComponent(pathname)) ?? []
    const { method = '', headers } = incoming
    for (const header of ignores) delete headers[header]
    const request = { method, key, query, headers, body: await buffer(incoming) }
    bucket.requests.push(request)
    if (await bucket.fault?.(request, response)) return
    if (name !== BUCKET) refuse(response, 404, 'NoSuchBucket')
    else if (query.has('uploads') || query.has('uploadId')) answerUpload(bucket, request, response)
    else if (key === '') listObjects(bucket, request, response)
    else answerObject(bucket, request, response)
  }
  const server = createServer((request, response) => void answer(request, response))
  const port = await listenHere(server)
  Object.assign(bucket.env, {
    AWS_ACCESS_KEY_ID: 'AKIAEXAMPLE',
    AWS_SECRET_ACCESS_KEY: 'a secret of a bucket',
    AWS_ENDPOINT_URL_S3: `http://127.0.0.1:${port}`,
    AWS_EC2_METADATA_DISABLED: 'true',
  })
  return bucket
}

/** Returns true, for a fault that refuses. */
export function refuse(response: ServerResponse, status: number, code: string, headers: Record<string, string> = {}) {
  response.writeHead(status, { 'content-type': 'application/xml', ...headers })
  response.end(`<Error><Code>${code}</Code><Message>made up</Message></Error>`)
  return true
}

function answerObject({ objects }: BucketServer, request: BucketRequest, response: ServerResponse): void {
  const { method, key, headers, body } = request
  const found = objects.get(key)
  const { 'if-match': wanted, 'if-none-match': free } = headers
  const isOther = (wanted !== undefined && etagOf(found) !== wanted) || (free === '*' && found !== undefined)
  if (method === 'DELETE') {
    objects.delete(key)
    response.writeHead(204).end()
  } else if (found === undefined && (method === 'GET' || wanted !== undefined)) refuse(response, 404, 'NoSuchKey')
  else if (isOther) refuse(response, 412, 'PreconditionFailed')
  else if (method === 'PUT') {
    objects.set(key, body)
    response.writeHead(200, { etag: etagOf(body) }).end()
  } else response.writeHead(200, { etag: etagOf(found), 'content-length': found?.length }).end(found)
}

function etagOf(content: Buffer | undefined): string {
  return content === undefined ? '' : `"${createHash('md5').update(content).digest('hex')}"`
}

function listObjects({ objects }: BucketServer, { query }: BucketRequest, response: ServerResponse): void {
  const prefix = query.get('prefix') ?? ''
  const after = query.get('continuation-token') ?? ''
  const keys = [...objects.keys()].filter((key) => key.startsWith(prefix) && key > after).toSorted()
  const page = keys.slice(0, PAGE)
  const isCut = keys.length > PAGE
  const next = isCut ? `<NextContinuationToken>${page.at(-1)}</NextContinuationToken>` : ''
  const contents = page.map((key) => `<Contents><Key>${key}</Key></Contents>`).join('')
  response.end(`<ListBucketResult><IsTruncated>${isCut}</IsTruncated>${next}${contents}</ListBucketResult>`)
}

/** Smaller than that of any service, so that lists have several pages. */
const PAGE = 3

function answerUpload({ objects, uploads }: BucketServer, request: BucketRequest, response: ServerResponse): void {
  const { method, key, query, body } = request
  const id = query.get('uploadId') ?? ''
  const upload = uploads.get(id)
  if (method === 'GET') {
    const listed = [...uploads].map(([each, of]) => `<Upload><Key>${of.key}</Key><UploadId>${each}</UploadId></Upload>`)
    response.end(`<ListMultipartUploadsResult>${listed.join('')}</ListMultipartUploadsResult>`)
  } else if (method === 'POST' && query.has('uploads')) {
    const begun = randomUUID()
    uploads.set(begun, { key, parts: new Map() })
    response.end(`<InitiateMultipartUploadResult><UploadId>${begun}</UploadId></InitiateMultipartUploadResult>`)
  } else if (upload === undefined) refuse(response, 404, 'NoSuchUpload')
  else if (method === 'PUT') {
    upload.parts.set(Number(query.get('partNumber')), body)
    response.writeHead(200, { etag: etagOf(body) }).end()
  } else {
    uploads.delete(id)
    if (method === 'DELETE') return void response.writeHead(204).end()
    const numbers = [...upload.parts.keys()].toSorted((one, other) => one - other)
    objects.set(key, Buffer.concat(numbers.map((number) => upload.parts.get(number) ?? Buffer.alloc(0))))
    response.end('<CompleteMultipartUploadResult></CompleteMultipartUploadResult>')
  }
}

export const PREFIX = 'customer-mirror'

/** A plan for the bucket of a test. Nothing is kept for readers of the manifest from before that is older than this moment. */
export function aBucketPlan(mirror: string, overrides: Partial<BucketPlan> = {}): BucketPlan {
  const to = { bucket: BUCKET, prefix: PREFIX }
  return { mirror, to, withoutPersonalData: false, organizations: [], afterRuns: false, graceMs: 0, ...overrides }
}

// Uploads of these tests go in parts of a thousand bytes; the service takes none below five million.
Reflect.set(Upload, 'MIN_PART_SIZE', 1)

export const SOON: StoreLimits = { requestMs: 60_000, attempts: 2, partBytes: 8 * 1024 * 1024 }

export async function publishInto(bucket: BucketServer, plan: BucketPlan, limits = SOON): Promise<Published> {
  return publishBucket(plan, bucket.env, limits)
}

export function manifestIn({ objects }: BucketServer): Manifest {
  const place = `${PREFIX}/manifest.json`
  return readManifestText(objects.get(place)?.toString() ?? '', place)
}

/** The keys below the prefix, without the manifest. */
export function objectsIn({ objects }: BucketServer): string[] {
  return [...objects.keys()]
    .map((key) => key.slice(PREFIX.length + 1))
    .filter((key) => key !== 'manifest.json')
    .toSorted()
}

export function namedIn(bucket: BucketServer): string[] {
  return manifestIn(bucket).organizations.map(({ object }) => object)
}

export const ONCE = { ...SOON, attempts: 1 }

/** A bucket with the first night of a mirror that has had a second one. */
export async function aStaleBucket() {
  const mirror = await aMirrorOfTwo()
  const bucket = await aBucketServer()
  await publishInto(bucket, aBucketPlan(mirror.file))
  const second = [aCustomer(1, { name: 'Renamed' }), ...customers(2, 8)]
  for (const organization of ['acme', 'globex']) await night(mirror, 1, second, { organization })
  bucket.requests.length = 0
  return { mirror, bucket }
}

/** Every object that the manifest names is there, whole; returns how many rows they have. */
export function rowsThatAreWhole(bucket: BucketServer): number[] {
  return manifestIn(bucket).organizations.map(({ object, rows, sha256 }) => {
    const content = bucket.objects.get(`${PREFIX}/${object}`) ?? Buffer.alloc(0)
    expect(createHash('sha256').update(content).digest('hex'), object).toBe(sha256)
    return rows
  })
}
