import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { CLOCKS, night, organizationsOf } from '../../../store/nights.ts'
import {
  aBucketPlan,
  aBucketServer,
  manifestIn,
  namedIn,
  objectsIn,
  PREFIX,
  publishInto,
  refuse,
  SOON,
} from '../../../support/bucket-server.ts'
import { customers } from '../../../support/builders.ts'
import { aMirror } from '../../../support/mirror-file.ts'
import { aMirrorOfNights } from '../../../support/publishing.ts'

test('an object that a person or a rule of the bucket deleted is made again', async () => {
  const mirror = await aMirrorOfNights()
  const bucket = await aBucketServer()
  await publishInto(bucket, aBucketPlan(mirror))
  const [acme = ''] = namedIn(bucket)
  bucket.objects.delete(`${PREFIX}/${acme}`)
  await publishInto(bucket, aBucketPlan(mirror, { afterRuns: true }))

  expect(objectsIn(bucket)).toEqual(namedIn(bucket))
  expect(objectsIn(bucket).length).toBe(2)
})

test('objects of other programs stay, and a manifest of another program is refused', async () => {
  const mirror = await aMirrorOfNights()
  const bucket = await aBucketServer()
  const others = ['customers/organization=acme/part-0.parquet', 'customers/notes.txt', 'notes.txt']
  for (const key of others) bucket.objects.set(`${PREFIX}/${key}`, Buffer.from('of another program'))
  await publishInto(bucket, aBucketPlan(mirror))
  await publishInto(bucket, aBucketPlan(mirror, { withoutPersonalData: true }))
  const stayed = objectsIn(bucket)
  bucket.objects.set(`${PREFIX}/manifest.json`, Buffer.from('{"program": "another"}'))
  const refused = publishInto(bucket, aBucketPlan(mirror))

  expect(stayed).toEqual(expect.arrayContaining(others))
  expect(stayed.length).toBe(5)
  await expect(refused).rejects.toMatchObject({
    code: 'usage',
    message: expect.stringContaining('name another prefix'),
  })
  expect(bucket.objects.get(`${PREFIX}/manifest.json`)?.toString()).toBe('{"program": "another"}')
})

test('a large organization goes in parts, and parts that were sent before a failure are removed', async () => {
  const mirror = await aMirror()
  await night(mirror, 0, customers(1, 60))
  const bucket = await aBucketServer()
  const limits = { ...SOON, partBytes: 1000 }
  await publishInto(bucket, aBucketPlan(mirror.file), limits)
  const [acme] = manifestIn(bucket).organizations
  const content = bucket.objects.get(`${PREFIX}/${acme?.object}`) ?? Buffer.alloc(0)
  const parts = bucket.requests.filter(({ query }) => query.has('partNumber')).length
  bucket.fault = ({ query }, response) => {
    if (query.get('partNumber') !== '3') return false
    refuse(response, 403, 'AccessDenied')
    return true
  }
  const denied = publishInto(bucket, aBucketPlan(mirror.file, { withoutPersonalData: true }), {
    ...limits,
    partBytes: 500,
  })

  await expect(denied).rejects.toMatchObject({ code: 'usage' })
  expect(parts).toBe(Math.ceil(content.length / limits.partBytes))
  expect(parts).toBeGreaterThan(2)
  expect(createHash('sha256').update(content).digest('hex')).toBe(acme?.['sha256'])
  expect(bucket.uploads.size).toBe(0)
  expect(manifestIn(bucket).generation).toBe(1)
})

test('what a manifest replaces stays for its readers, and then goes, however often something changes', async () => {
  const mirror = await aMirror()
  await night(mirror, 0, customers(1, 5))
  const bucket = await aBucketServer()
  const plan = aBucketPlan(mirror.file)
  await publishInto(bucket, plan)
  const [first] = namedIn(bucket)
  await night(mirror, 1, customers(1, 6))
  await publishInto(bucket, plan)
  const [second] = namedIn(bucket)
  const both = objectsIn(bucket)
  await night(mirror, 2, customers(1, 7))
  await publishInto(bucket, { ...plan, graceMs: 3_600_000 })
  const [third] = namedIn(bucket)
  const three = objectsIn(bucket)
  const waiting = await publishInto(bucket, { ...plan, graceMs: 3_600_000 })
  await night(mirror, 3, customers(1, 8))
  await publishInto(bucket, plan)
  const next = objectsIn(bucket)
  const tidied = await publishInto(bucket, plan)

  expect([both, three]).toEqual([
    [first, second],
    [first, second, third],
  ])
  expect(waiting.bucket).toMatchObject({ isNew: false, replaced: 2 })
  expect(next).toEqual([third, namedIn(bucket)[0]])
  expect(tidied.bucket).toMatchObject({ isNew: true, replaced: 0 })
  expect(objectsIn(bucket)).toEqual(namedIn(bucket))
})

test('objects of organizations that were renamed, retired or forgotten go at once', async () => {
  const mirror = await aMirror()
  for (const [place, organization] of ['acme', 'globex', 'initech', 'hooli'].entries())
    await night(mirror, 0, customers(place * 10 + 1, place * 10 + 4), { organization })
  const bucket = await aBucketServer()
  const plan = aBucketPlan(mirror.file, { graceMs: 3_600_000 })
  await publishInto(bucket, plan)
  const organizations = await organizationsOf(mirror.file)
  await organizations.rename({ from: 'acme', to: 'acme-eu' }, CLOCKS)
  await organizations.retire('globex', CLOCKS)
  await organizations.forget('initech', CLOCKS)
  const { bucket: after } = await publishInto(bucket, plan)

  expect(after?.gone).toEqual(['acme', 'globex', 'initech'])
  expect(objectsIn(bucket)).toEqual(namedIn(bucket))
  expect(namedIn(bucket).join()).toMatch(/organization=acme-eu\/.*,.*organization=hooli\/[^,]*$/)
})
