import { expect, test, onTestFinished } from 'vitest'
import { night } from '../../../store/nights.ts'
import {
  aBucketPlan,
  aBucketServer,
  aStaleBucket,
  type Fault,
  namedIn,
  objectsIn,
  ONCE,
  publishInto,
  refuse,
  refusing,
  rowsThatAreWhole,
  BUCKET,
  type BucketRequest,
  PREFIX,
} from '../../../support/bucket-server.ts'

import { customers } from '../../../support/builders.ts'
import { aMirror } from '../../../support/mirror-file.ts'
import { storeError, openS3Store } from '../../../../src/copies/objects/s3-store.ts'

test.each<[string, Fault, string, RegExp]>([
  ['a right that lacks', refusing(403, 'AccessDenied'), 'usage', /They need s3:ListBucket .* s3:PutObject/],
])('%s is reported, and what was published stays', async (_, fault, code, message) => {
  const { mirror, bucket } = await aStaleBucket()
  bucket.fault = fault
  const failing = publishInto(bucket, aBucketPlan(mirror.file), ONCE)

  await expect(failing).rejects.toMatchObject({ code, message: expect.stringMatching(message) })
  expect(rowsThatAreWhole(bucket)).toEqual([5, 5])
})

test.each([4])('when request %i is the last that is answered, the manifest names whole objects', async (last) => {
  const { mirror, bucket } = await aStaleBucket()
  bucket.fault = (_, response) => bucket.requests.length > last && response.destroy().destroyed
  await publishInto(bucket, aBucketPlan(mirror.file), ONCE).catch(() => undefined)
  const found = rowsThatAreWhole(bucket)
  bucket.fault = undefined
  await publishInto(bucket, aBucketPlan(mirror.file))
  await publishInto(bucket, aBucketPlan(mirror.file))

  expect(found).toEqual(last < 5 ? [5, 5] : [8, 8])
  expect(objectsIn(bucket)).toEqual(namedIn(bucket))
})

test('a service that ignores conditions keeps the manifest of a later publish that ended first, and its objects', async () => {
  const mirror = await aMirror()
  await night(mirror, 0, customers(1, 5))
  const bucket = await aBucketServer({ conditions: 'ignored' })
  const plan = aBucketPlan(mirror.file, { graceMs: 3_600_000 })
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

test.each([
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', /NODE_EXTRA_CA_CERTS/],
  ['CERT_HAS_EXPIRED', /the clock here/],
  ['ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', /no certificate of the client/],
])('%s is reported with the place, the call and what to do, and is no defect', (code, said) => {
  const error = storeError(Object.assign(new Error('made up'), { code }), PLACE, 'PutObject')

  expect(error).toMatchObject({ code: 'usage', message: expect.stringMatching(said) })
  expect(String(error)).toMatch(
    new RegExp(`${PLACE}: .* \\(PutObject, ${code}\\)\\. .* What was there before is unchanged\\. Check the bucket`),
  )
})

test.each([
  ['Region is missing', {}],
  ['Region not accepted: region="a b" is not a valid hostname component.', {}],
  ['ENOENT: no such file', { code: 'ENOENT', syscall: 'open' }],
  ['Invalid parameter for "defaultsMode", expect standard, legacy, got fast', {}],
  ['Invalid character in header content', { code: 'ERR_INVALID_CHAR' }],
])('%s is put down to the settings, and not to the service', (message, facts) => {
  const error = storeError(Object.assign(new Error(message), facts), PLACE, 'PutObject')

  expect(error).toMatchObject({ code: 'usage', message: expect.stringContaining(message.replace(/\.$/, '')) })
})

test.each([
  ['RequestTimeout', 400, 'gone'],
  ['OperationAborted', 409, 'gone'],
  ['ThrottlingException', 400, 'gone'],
  ['ClientDisconnected', 499, 'gone'],
  ['Error', 200, 'gone'],
  ['SlowDown', 503, 'gone'],
  ['SignatureDoesNotMatch', 403, 'usage'],
  ['NoSuchBucket', 404, 'usage'],
  ['PermanentRedirect', 301, 'usage'],
  ['Error', 413, 'usage'],
  ['EntityTooLarge', 413, 'full'],
  ['Error', 507, 'full'],
])('%s with status %i is %s, and what the service said is not repeated', (name, httpStatusCode, code) => {
  const error = storeError(
    Object.assign(new Error('made up'), { name, $metadata: { httpStatusCode } }),
    PLACE,
    'PutObject',
  )

  expect(error).toMatchObject({ code, message: expect.stringContaining('the service refused a request (PutObject, ') })
  expect(String(error)).not.toContain('made up')
})

test.each([
  ['HPE_INVALID_CONSTANT', 'Parse Error: Expected HTTP/'],
  ['ENOTFOUND', 'getaddrinfo ENOTFOUND'],
])('%s is no mistake in the settings, and no defect', (code, message) => {
  expect(storeError(Object.assign(new Error(message), { code }), PLACE, 'PutObject')).toMatchObject({
    code: 'gone',
    message: expect.stringMatching(new RegExp(`no answer \\(PutObject, ${code}\\)\\. .*Check the endpoint`)),
  })
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
])(
  'what could not be removed %s is removed by the next publish, although nothing else changed',
  async (_, status, code, isLeft) => {
    const { mirror, bucket } = await aStaleBucket()
    bucket.fault = ({ method }, response) => {
      if (method === 'DELETE') refuse(response, status, code)
      return method === 'DELETE'
    }
    await publishInto(bucket, aBucketPlan(mirror.file), ONCE)
    const refused = await publishInto(bucket, aBucketPlan(mirror.file), ONCE)
    const left = objectsIn(bucket).length
    bucket.fault = undefined
    const last = await publishInto(bucket, aBucketPlan(mirror.file))

    expect(refused).toMatchObject({ warnings: [expect.stringContaining('could not be removed')], bucket: { isLeft } })
    expect(left).toBeGreaterThan(2)
    expect(last).toMatchObject({ warnings: [], bucket: { isLeft: false } })
    expect(objectsIn(bucket)).toEqual(namedIn(bucket))
  },
)

test('check reports why a bucket refuses, as publishing there does', async () => {
  const [code, status] = ['AuthorizationHeaderMalformed', 400]
  const bucket = await aBucketServer()
  bucket.fault = ({ method }, response) => {
    if (method === 'HEAD') response.writeHead(status).end()
    else refuse(response, status, code)
    return true
  }
  const store = openS3Store({ to: { bucket: BUCKET, prefix: PREFIX } }, bucket.env)
  onTestFinished(() => store.close())

  await expect(store.ask()).rejects.toThrow(`the service refused a request (ListObjectsV2, ${code}, ${status})`)
})

test('check takes no page of the web for a bucket', async () => {
  const bucket = await aBucketServer()
  bucket.fault = (_, response) => {
    response.end('<html>a console</html>')
    return true
  }
  const store = openS3Store({ to: { bucket: BUCKET, prefix: PREFIX } }, bucket.env)
  onTestFinished(() => store.close())

  await expect(store.ask()).rejects.toMatchObject({ code: 'usage' })
})
