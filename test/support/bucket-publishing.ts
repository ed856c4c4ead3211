import { mkdirSync, writeFileSync } from 'node:fs'
import { createHash } from 'node:crypto'
import { dirname, join } from 'node:path'
import { Upload } from '@aws-sdk/lib-storage'
import { expect } from 'vitest'
import { z } from 'zod'
import type { BucketPlan, Published } from '../../src/copies/publish-plan.ts'
import { publishToBucket } from '../../src/copies/bucket/publish-bucket.ts'
import { openS3Store, type StoreLimits } from '../../src/copies/bucket/s3-store.ts'
import type { Mirror } from '../../src/model/mirror.ts'
import { night } from '../store/nights.ts'
import { aBucketServer, BUCKET, refuse, type BucketServer, type Fault } from './bucket-server.ts'
import { aCustomer, customers } from './builders.ts'
import { aDuckDb, type DuckRow } from './duckdb.ts'
import { aMirror } from './mirror-file.ts'
import { temporaryFolder } from './temp-folder.ts'

export const PREFIX = 'customer-mirror'

/** A plan for the bucket of a test. Nothing is kept for readers of the manifest from before that is older than this moment. */
export function aBucketPlan(mirror: string, overrides: Partial<BucketPlan> = {}): BucketPlan {
  return {
    mirror,
    to: { bucket: BUCKET, prefix: PREFIX },
    withoutPersonalData: false,
    organizations: [],
    afterRuns: false,
    graceMs: 0,
    ...overrides,
  }
}

// Uploads of these tests go in parts of a thousand bytes; the service takes none below five million.
Reflect.set(Upload, 'MIN_PART_SIZE', 1)

export const SOON: StoreLimits = { requestMs: 60_000, attempts: 2, partBytes: 8 * 1024 * 1024 }

/** Publishes in this process. */
export async function publishInto(bucket: BucketServer, plan: BucketPlan, limits = SOON): Promise<Published> {
  const store = openS3Store(plan, bucket.env, limits)
  try {
    return await publishToBucket(plan, store)
  } finally {
    store.close()
  }
}

const manifest = z.looseObject({
  generation: z.number(),
  organizations: z.array(z.looseObject({ organization: z.string(), object: z.string(), rows: z.number() })),
  replaced: z.array(z.object({ object: z.string() })),
})

/** What the manifest says. */
export function manifestIn({ objects }: BucketServer): z.output<typeof manifest> {
  return manifest.parse(JSON.parse(objects.get(`${PREFIX}/manifest.json`)?.toString() ?? 'null'))
}

/** The keys below the prefix, without the manifest. */
export function objectsIn({ objects }: BucketServer): string[] {
  return [...objects.keys()]
    .map((key) => key.slice(PREFIX.length + 1))
    .filter((key) => key !== 'manifest.json')
    .toSorted()
}

/** The keys that the manifest names, in the order of organizations. */
export function namedIn(bucket: BucketServer): string[] {
  return manifestIn(bucket).organizations.map(({ object }) => object)
}

/** The objects as files of a folder, for readers without a network. */
function asFolder({ objects }: BucketServer): string {
  const folder = temporaryFolder()
  for (const [key, content] of objects) {
    const file = join(folder, key)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, content)
  }
  return join(folder, PREFIX)
}

/** Requests are sent once. */
export const ONCE = { ...SOON, attempts: 1 }

/** A bucket with the first night of a mirror that has had a second one. */
export async function aStaleBucket(
  options: Parameters<typeof aBucketServer>[0] = {},
): Promise<{ mirror: Mirror & { file: string }; bucket: BucketServer }> {
  const mirror = await aMirror()
  for (const organization of ['acme', 'globex']) await night(mirror, 0, customers(1, 5), { organization })
  const bucket = await aBucketServer(options)
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

/** Refuses every request. */
export const refusing =
  (status: number, code: string, headers = {}): Fault =>
  (_, response) => {
    refuse(response, status, code, headers)
    return true
  }

/** The rows that a reader gets who begins with the manifest. */
export async function rowsIn(bucket: BucketServer, columns: string): Promise<DuckRow[]> {
  const folder = asFolder(bucket)
  const duck = await aDuckDb()
  await duck.all(`SET VARIABLE objects = (SELECT list('${folder}/' || one.object)
    FROM (SELECT unnest(organizations) AS one FROM read_json('${folder}/manifest.json')))`)
  return duck.all(`SELECT ${columns} FROM read_parquet(getvariable('objects'), hive_partitioning = true) ORDER BY ALL`)
}

/** A publish that another one overtakes: it begins after all objects of the first are there, and ends before its manifest is. */
export async function anOvertakenPublish(
  options: Parameters<typeof aBucketServer>[0] = {},
): Promise<{ bucket: BucketServer; published: Published }> {
  const { mirror, bucket } = await aStaleBucket(options)
  let meanwhile: Promise<unknown> | undefined
  bucket.fault = async ({ method, key }) => {
    if (meanwhile !== undefined || method !== 'PUT' || !key.endsWith('manifest.json')) return false
    meanwhile = night(mirror, 2, customers(1, 9)).then(() => publishInto(bucket, aBucketPlan(mirror.file)))
    await meanwhile
    return false
  }
  const published = await publishInto(bucket, aBucketPlan(mirror.file))
  await publishInto(bucket, aBucketPlan(mirror.file))
  expect(meanwhile).toBeDefined()
  return { bucket, published }
}
