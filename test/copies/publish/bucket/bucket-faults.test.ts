import { expect, inject, test } from 'vitest'
import { storeError } from '../../../../src/copies/objects/bucket.ts'
import { aMirrorOf, night } from '../../../store/nights.ts'
import {
  aBucketPlan,
  aBucketServer,
  aStaleBucket,
  type BucketRequest,
  type Fault,
  namedIn,
  objectsIn,
  ONCE,
  publishInto,
  refuse,
  rowsThatAreWhole,
  SOON,
} from '../../../support/bucket-server.ts'
import { customers, HOUR_MS } from '../../../support/builders.ts'
import { tamper } from '../../../support/mirror-file.ts'

test('wherever a publish fails, the manifest names whole objects, and the next publish leaves nothing else', async () => {
  const { mirror, bucket } = await aStaleBucket()
  const limits = { ...ONCE, partBytes: 1000 }
  const found = new Set<string>()
  let passed = false
  // Every request in a deep run, and every thirtieth otherwise.
  for (let failing = 1; !passed; failing += inject('isDeep') ? 1 : 30) {
    let count = 0
    bucket.fault = (_, response) => {
      count += 1
      if (count < failing) return false
      response.destroy()
      return true
    }
    // A change each time, so that there is something to publish.
    await night(mirror, 1 + failing, customers(1, 8 + failing))
    const publishing = publishInto(bucket, aBucketPlan(mirror.file), limits)
    passed = await publishing.then(({ warnings }) => warnings.length === 0).catch(() => false)
    bucket.fault = undefined
    found.add(rowsThatAreWhole(bucket).join())
    // What this one replaces stays for readers until the next one.
    await publishInto(bucket, aBucketPlan(mirror.file), limits)
    await publishInto(bucket, aBucketPlan(mirror.file), limits)
    expect([failing, bucket.uploads.size, objectsIn(bucket)]).toEqual([failing, 0, namedIn(bucket)])
  }

  expect(found.size).toBeGreaterThan(1)
})

test('a service that ignores conditions keeps the manifest of a later publish that ended first, and its objects', async () => {
  const mirror = await aMirrorOf(customers(1, 5))
  const bucket = await aBucketServer({ ignores: ['if-match', 'if-none-match'] })
  const plan = aBucketPlan(mirror.file, { graceMs: HOUR_MS })
  let later: ReturnType<typeof namedIn> | undefined
  bucket.fault = async ({ method }) => {
    if (later !== undefined || method !== 'PUT') return false
    later = []
    await night(mirror, 1, customers(1, 9))
    await publishInto(bucket, plan)
    later = namedIn(bucket)
    return false
  }
  await publishInto(bucket, plan)

  expect(namedIn(bucket)).toEqual(later)
  expect(rowsThatAreWhole(bucket)).toEqual([9])
})

test('a manifest that was written although its answer was lost is not taken for that of another publisher', async () => {
  const { mirror, bucket } = await aStaleBucket()
  let lost = false
  bucket.fault = ({ method, key, body }, response) => {
    if (lost || method !== 'PUT' || !key.endsWith('manifest.json')) return false
    lost = true
    bucket.objects.set(key, body)
    response.destroy()
    return true
  }
  const { bucket: published } = await publishInto(bucket, aBucketPlan(mirror.file))

  expect(lost).toBe(true)
  expect(published).toMatchObject({ generation: 2, isNew: true })
  expect(rowsThatAreWhole(bucket)).toEqual([8, 8])
})

const PLACE = 's3://copies/customers'

const withStatus = (httpStatusCode: number, name = 'Error') => ({ name, $metadata: { httpStatusCode } })

const DENIED = /\(PutObject, AccessDenied, 403\).*They need s3:ListBucket .* s3:PutObject/

test.each<[facts: object, code: string, said: RegExp]>([
  [{ code: 'CERT_HAS_EXPIRED' }, 'usage', /\(PutObject, CERT_HAS_EXPIRED\)\. .*NODE_EXTRA_CA_CERTS.* is unchanged\./],
  [{ message: 'Region is missing' }, 'usage', /Region is missing/],
  [{ code: 'ENOTFOUND' }, 'gone', /no answer \(PutObject, ENOTFOUND\)\. .*Check the endpoint/],
  [withStatus(503, 'SlowDown'), 'gone', /the service refused a request \(PutObject, SlowDown, 503\)/],
  [withStatus(403, 'AccessDenied'), 'usage', DENIED],
  [withStatus(507), 'full', /\(PutObject, 507\)/],
])('%o is %s, and what the service said is not repeated', (facts, code, said) => {
  const error = storeError(Object.assign(new Error('made up'), facts), PLACE, 'PutObject')

  expect(error).toMatchObject({ code, message: expect.stringMatching(said) })
  if ('$metadata' in facts) expect(String(error)).not.toContain('made up')
})

const isList = ({ method, key, query }: BucketRequest) => method === 'GET' && key === '' && !query.has('uploads')

test('a list that is cut is not taken for one that may not be read: nothing is published until it can be', async () => {
  const { mirror, bucket } = await aStaleBucket()
  bucket.fault = (request, response) => {
    if (isList(request)) response.end('<ListBucketResult><Contents><Key>customers</Key></Cont')
    return isList(request)
  }

  await expect(publishInto(bucket, aBucketPlan(mirror.file), ONCE)).rejects.toMatchObject({ code: 'gone' })
  expect(rowsThatAreWhole(bucket)).toEqual([5, 5])
})

test.each<[string, number, string, boolean]>([
  ['without the right', 403, 'AccessDenied', false],
  ['by a service that fails', 503, 'SlowDown', true],
])('what could not be removed %s goes next time, although nothing else changed', async (_, status, code, isLeft) => {
  const { mirror, bucket } = await aStaleBucket()
  bucket.fault = ({ method }, response) => method === 'DELETE' && refuse(response, status, code)
  await publishInto(bucket, aBucketPlan(mirror.file), ONCE)
  const refused = await publishInto(bucket, aBucketPlan(mirror.file), ONCE)
  const left = objectsIn(bucket).length
  bucket.fault = undefined
  const last = await publishInto(bucket, aBucketPlan(mirror.file))

  expect(refused).toMatchObject({ warnings: [expect.stringContaining('could not be removed')], bucket: { isLeft } })
  expect(left).toBeGreaterThan(2)
  expect(last).toMatchObject({ warnings: [], bucket: { isLeft: false } })
  expect(objectsIn(bucket)).toEqual(namedIn(bucket))
})

test('a service that never answers is reported with what to do, and what was published stays', async () => {
  const { mirror, bucket } = await aStaleBucket()
  bucket.fault = () => true
  const failing = publishInto(bucket, aBucketPlan(mirror.file), { ...SOON, attempts: 1, requestMs: 300 })

  const message = expect.stringMatching(/no answer \(\w+, (ETIMEDOUT|TimeoutError)\)\. .* is unchanged/)
  await expect(failing).rejects.toMatchObject({ code: 'gone', message })
  await expect(failing).rejects.not.toMatchObject({ message: expect.stringMatching(/AKIA|a secret|made up/) })
  expect(rowsThatAreWhole(bucket)).toEqual([5, 5])
})

test('a clock that is off is corrected by that of the service, and a request that failed for a moment is sent again', async () => {
  const { mirror, bucket } = await aStaleBucket()
  const date = new Date(Date.now() + 3 * HOUR_MS).toUTCString()
  const answers: Fault[] = [
    (_, response) => refuse(response, 403, 'RequestTimeTooSkewed', { date }),
    (_, response) => refuse(response, 500, 'InternalError'),
  ]
  bucket.fault = (request, response) => answers.shift()?.(request, response) ?? false
  await publishInto(bucket, aBucketPlan(mirror.file), { ...SOON, attempts: 3 })

  expect(answers).toEqual([])
  expect(rowsThatAreWhole(bucket)).toEqual([8, 8])
  // Such as 20261122T140500Z.
  const signed = bucket.requests.map(({ headers }) => String(headers['x-amz-date']))
  const moments = signed.map((at) => Date.parse(at.replace(/^(....)(..)(..)T(..)(..)/, '$1-$2-$3T$4:$5:')))
  const [first = 0, second = 0] = moments
  expect(second - first).toBeGreaterThan(2.9 * HOUR_MS)
})

test('an organization with a value that Parquet cannot hold keeps its object, and keeps no other one back', async () => {
  const { mirror, bucket } = await aStaleBucket()
  tamper(mirror.file, `UPDATE customers SET created_at_utc = 'soon' WHERE organization = 'acme'`)
  const { failed } = await publishInto(bucket, aBucketPlan(mirror.file))

  expect(failed).toMatchObject([{ code: 'usage', message: expect.stringContaining('A value of created_at_utc') }])
  expect(rowsThatAreWhole(bucket)).toEqual([5, 8])
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
