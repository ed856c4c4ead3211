import { expect, test } from 'vitest'
import {
  aBucketPlan,
  aStaleBucket,
  type Fault,
  namedIn,
  objectsIn,
  PREFIX,
  publishInto,
  refuse,
  rowsThatAreWhole,
  SOON,
} from '../../../support/bucket-server.ts'
import { night } from '../../../store/nights.ts'
import { customers } from '../../../support/builders.ts'
import { tamper } from '../../../support/mirror-file.ts'

const HOUR_MS = 3_600_000

/** When a request was signed: `20261122T140500Z`. */
function momentOf(signed: string): number {
  return Date.parse(signed.replace(/^(....)(..)(..)T(..)(..)/, '$1-$2-$3T$4:$5:'))
}

/** Refuses every request. */
const refusing =
  (status: number, code: string, headers = {}): Fault =>
  (_, response) => {
    refuse(response, status, code, headers)
    return true
  }

test('a service that never answers is reported with what to do, and what was published stays', async () => {
  const { mirror, bucket } = await aStaleBucket()
  bucket.fault = () => true
  const failing = publishInto(bucket, aBucketPlan(mirror.file), { ...SOON, attempts: 1, requestMs: 300 })

  await expect(failing).rejects.toMatchObject({
    code: 'gone',
    message: expect.stringMatching(/no answer \(\w+, (ETIMEDOUT|TimeoutError)\)\. .* is unchanged/),
  })
  await expect(failing).rejects.not.toMatchObject({ message: expect.stringMatching(/AKIA|a secret|made up/) })
  expect(rowsThatAreWhole(bucket)).toEqual([5, 5])
})

test('a clock that is off is corrected by that of the service, and a request that failed for a moment is sent again', async () => {
  const { mirror, bucket } = await aStaleBucket()
  const date = new Date(Date.now() + 3 * HOUR_MS).toUTCString()
  const answers = [refusing(403, 'RequestTimeTooSkewed', { date }), refusing(500, 'InternalError')]
  bucket.fault = (request, response) => answers.shift()?.(request, response) ?? false
  await publishInto(bucket, aBucketPlan(mirror.file), { ...SOON, attempts: 3 })

  expect(answers).toEqual([])
  expect(rowsThatAreWhole(bucket)).toEqual([8, 8])
  const [first = 0, second = 0] = bucket.requests.map(({ headers }) => momentOf(String(headers['x-amz-date'])))
  expect(second - first).toBeGreaterThan(2.9 * HOUR_MS)
})

test('an organization with a value that Parquet cannot hold keeps its object, and keeps no other one back', async () => {
  const { mirror, bucket } = await aStaleBucket()
  tamper(mirror.file, `UPDATE customers SET created_at_utc = 'soon' WHERE organization = 'acme'`)
  const { failed } = await publishInto(bucket, aBucketPlan(mirror.file))

  expect(failed).toMatchObject([{ code: 'usage', message: expect.stringContaining('A value of created_at_utc') }])
  expect(rowsThatAreWhole(bucket)).toEqual([5, 8])
})

test('what a publish left behind that was killed goes with the next one: objects, and uploads that were not ended', async () => {
  const { mirror, bucket } = await aStaleBucket()
  const left = `${PREFIX}/customers/organization=acme/customers-0000000002-0123456789abcdef.parquet`
  bucket.objects.set(left, Buffer.from('of a publish that was killed'))
  bucket.uploads.set('left', { key: left.replace('acme', 'globex'), parts: new Map() })
  bucket.uploads.set('foreign', { key: `${PREFIX}/customers/notes.parquet`, parts: new Map() })
  await publishInto(bucket, aBucketPlan(mirror.file))
  await publishInto(bucket, aBucketPlan(mirror.file))

  expect(objectsIn(bucket)).toEqual(namedIn(bucket))
  expect([...bucket.uploads.keys()]).toEqual(['foreign'])
})

test('of two publishers at once neither mixes objects of the other into its manifest', async () => {
  const { mirror, bucket } = await aStaleBucket()
  let meanwhile: Promise<unknown> | undefined
  // The second begins after all objects of the first are there, and ends before its manifest is.
  bucket.fault = async ({ method, key }) => {
    if (meanwhile !== undefined || method !== 'PUT' || !key.endsWith('manifest.json')) return false
    meanwhile = night(mirror, 2, customers(1, 9)).then(() => publishInto(bucket, aBucketPlan(mirror.file)))
    await meanwhile
    return false
  }
  const published = await publishInto(bucket, aBucketPlan(mirror.file))
  await publishInto(bucket, aBucketPlan(mirror.file))

  expect(meanwhile).toBeDefined()
  expect(published.bucket?.organizations.map(({ customers: rows }) => rows)).toEqual([9, 8])
  expect(rowsThatAreWhole(bucket)).toEqual([9, 8])
  expect(objectsIn(bucket)).toEqual(namedIn(bucket))
})
