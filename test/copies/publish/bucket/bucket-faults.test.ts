import { expect, test } from 'vitest'
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
} from '../../../support/bucket-server.ts'
import { customers } from '../../../support/builders.ts'
import { aMirror } from '../../../support/mirror-file.ts'

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

test('what a manifest names stays that was written although the service refused it', async () => {
  const { mirror, bucket } = await aStaleBucket()
  bucket.fault = ({ method, key, body }, response) => {
    if (method !== 'PUT' || !key.endsWith('manifest.json')) return false
    bucket.objects.set(key, body)
    refuse(response, 403, 'ExpiredToken')
    return true
  }

  await expect(publishInto(bucket, aBucketPlan(mirror.file), ONCE)).rejects.toMatchObject({ code: 'usage' })
  expect(rowsThatAreWhole(bucket)).toEqual([8, 8])
})
