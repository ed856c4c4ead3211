import { expect, onTestFinished, test } from 'vitest'
import { openS3Store } from '../../../../src/copies/objects/s3-store.ts'
import {
  aBucketPlan,
  aBucketServer,
  aStaleBucket,
  BUCKET,
  type BucketRequest,
  namedIn,
  objectsIn,
  ONCE,
  PREFIX,
  publishInto,
  refuse,
  rowsThatAreWhole,
  SOON,
} from '../../../support/bucket-server.ts'

const isList = ({ method, key, query }: BucketRequest) => method === 'GET' && key === '' && !query.has('uploads')

test('a list that goes round in circles is ended, and no key of another prefix in it is removed', async () => {
  const { mirror, bucket } = await aStaleBucket()
  const alike = `${'x'.repeat(PREFIX.length)}/customers/organization=acme/customers-0000000001-0123456789abcdef.parquet`
  bucket.fault = (request, response) => {
    if (!isList(request)) return false
    const cut = '<IsTruncated>true</IsTruncated><NextContinuationToken>same</NextContinuationToken>'
    response.end(`<ListBucketResult>${cut}<Contents><Key>${alike}</Key></Contents></ListBucketResult>`)
    return true
  }

  await expect(publishInto(bucket, aBucketPlan(mirror.file), ONCE)).rejects.toMatchObject({ code: 'busy' })
  expect(bucket.requests.filter(({ method }) => method === 'DELETE')).toEqual([])
  expect(rowsThatAreWhole(bucket)).toEqual([5, 5])
})

test('an upload that was begun twice, since the answer to the first time was lost, is not left', async () => {
  const { mirror, bucket } = await aStaleBucket()
  let lost = false
  bucket.fault = ({ method, key, query }, response) => {
    if (lost || method !== 'POST' || !query.has('uploads')) return false
    lost = true
    bucket.uploads.set('lost', { key, parts: new Map() })
    response.destroy()
    return true
  }
  await publishInto(bucket, aBucketPlan(mirror.file), { ...SOON, partBytes: 1000 })

  expect(lost).toBe(true)
  expect(bucket.uploads.size).toBe(0)
  expect(rowsThatAreWhole(bucket)).toEqual([8, 8])
})

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

test.each(['9007199254740993', '99999999999999999999'])(
  'an object with a number that no manifest had is not ours, and keeps nothing from being published: %s',
  async (number) => {
    const { mirror, bucket } = await aStaleBucket()
    const other = `customers/organization=acme/customers-${number}-0123456789abcdef.parquet`
    bucket.objects.set(`${PREFIX}/${other}`, Buffer.from('of another program'))
    await publishInto(bucket, aBucketPlan(mirror.file))
    const again = await publishInto(bucket, aBucketPlan(mirror.file))

    expect(again).toMatchObject({ failed: [], warnings: [], bucket: { generation: 3 } })
    expect(objectsIn(bucket)).toEqual([...namedIn(bucket), other].toSorted())
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

test('check asks for what publishing asks for: a policy may allow the list below the prefix alone', async () => {
  const bucket = await aBucketServer()
  bucket.fault = ({ method, query }, response) => {
    if (method === 'GET' && query.get('prefix')?.startsWith(`${PREFIX}/`) === true) return false
    response.writeHead(403).end()
    return true
  }
  const store = openS3Store({ to: { bucket: BUCKET, prefix: PREFIX } }, bucket.env)
  onTestFinished(() => store.close())

  await expect(store.ask()).resolves.toBeUndefined()
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
