import { createHash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { publicColumns } from '../../../../src/model/public-tables.ts'
import { aMirrorOf, CLOCKS, night, organizationsOf, quickRun } from '../../../store/nights.ts'
import {
  aBucketPlan,
  aBucketServer,
  BUCKET,
  type BucketServer,
  manifestIn,
  namedIn,
  objectsIn,
  PREFIX,
  publishInto,
  refuse,
  SOON,
} from '../../../support/bucket-server.ts'
import { aCustomer, customerId, customers, START_MS } from '../../../support/builders.ts'
import { PAGES } from '../../../support/documents.ts'
import { aDuckDb, type DuckRow } from '../../../support/exported-files.ts'
import { aMirror, rowsOf, tamper, temporaryFolder } from '../../../support/mirror-file.ts'
import { aMirrorOfNights, aMirrorOfTwo } from '../../../support/publishing.ts'

/** The rows that a reader gets who begins with the manifest. */
async function rowsIn(bucket: BucketServer, columns: string): Promise<DuckRow[]> {
  const folder = temporaryFolder()
  for (const key of namedIn(bucket)) {
    const file = join(folder, key)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, bucket.objects.get(`${PREFIX}/${key}`) ?? '')
  }
  const objects = namedIn(bucket).map((key) => `'${join(folder, key)}'`)
  const duck = await aDuckDb()
  return duck.all(`SELECT ${columns} FROM read_parquet([${objects.join(', ')}], hive_partitioning = true) ORDER BY ALL`)
}

test('a reader who begins with the manifest, which is written last and describes each object, gets what the mirror has', async () => {
  const mirror = await aMirrorOfNights()
  const bucket = await aBucketServer()
  const published = await publishInto(bucket, aBucketPlan(mirror))
  const written = bucket.requests.filter(({ method }) => method === 'PUT').map(({ key }) => key)
  const [acme] = manifestIn(bucket).organizations
  const content = bucket.objects.get(`${PREFIX}/${acme?.object}`) ?? Buffer.alloc(0)
  const columns = 'organization, id, name, language, is_active'

  // Spark reads no UUID of Parquet.
  expect(await rowsIn(bucket, `${columns}, typeof(id) AS type`)).toEqual(
    rowsOf(mirror, `SELECT ${columns}, 'VARCHAR' AS type FROM customers ORDER BY organization, id`).map((row) => ({
      ...row,
      is_active: row['is_active'] === 1,
    })),
  )
  expect(written.map((key) => key.slice(PREFIX.length + 1))).toEqual([...namedIn(bucket), 'manifest.json'])
  expect(acme).toMatchObject({
    ...{ organization: 'acme', rows: 31, active: 30, run: 4, proof: 'proven', read_as_of: '2026-01-07T02:00:00.000Z' },
    object: expect.stringMatching(/^customers\/organization=acme\/customers-0000000001-[0-9a-f]{16}\.parquet$/),
    bytes: content.length,
    sha256: createHash('sha256').update(content).digest('hex'),
  })
  expect(JSON.parse(String(bucket.objects.get(`${PREFIX}/manifest.json`)))).toMatchObject({
    ...{ program: 'customer-mirror', version: 1, without_personal_data: false },
  })
  expect(published).toMatchObject({
    ...{ copies: [], failed: [], warnings: [] },
    bucket: { to: `s3://${BUCKET}/${PREFIX}`, generation: 1, isNew: true, gone: [], replaced: 0, isLeft: false },
  })
})

test('docs/read/recipes.md names each key that the manifest has of an organization, and dates an unproven reading as it does', async () => {
  const mirror = await aMirrorOf(customers(1, 5))
  await night(mirror, 1, customers(1, 5), { proof: 'unproven' })
  const bucket = await aBucketServer()
  await publishInto(bucket, aBucketPlan(mirror.file))
  const { organizations } = JSON.parse(bucket.objects.get(`${PREFIX}/manifest.json`)?.toString() ?? '')
  const page = PAGES.find(({ name }) => name === 'docs/read/recipes.md')?.text ?? ''
  const [section = ''] = /^## Object storage$.*?(?=^## )/ms.exec(page) ?? []
  const [fresh] = rowsOf(mirror.file, 'SELECT read_as_of, proven_as_of FROM freshness')

  expect(Object.keys(organizations[0]).filter((key) => !section.includes(`\`${key}\``))).toEqual([])
  expect(fresh).toMatchObject({ read_as_of: '2026-01-06 02:00:00.000', proven_as_of: '2026-01-05 02:00:00.000' })
  const dates = { read_as_of: '2026-01-06T02:00:00.000Z', proven_as_of: '2026-01-05T02:00:00.000Z' }
  expect(organizations[0]).toMatchObject({ ...dates, proof: 'unproven' })
})

test('an organization that did not change keeps its object unless someone deletes it, and a manifest that would say the same is not written', async () => {
  const mirror = await aMirrorOfTwo()
  const bucket = await aBucketServer()
  await publishInto(bucket, aBucketPlan(mirror.file))
  const [acme, globex] = namedIn(bucket)
  bucket.requests.length = 0
  const same = await publishInto(bucket, aBucketPlan(mirror.file))
  const asked = bucket.requests.map(({ method }) => method)
  await night(mirror, 1, customers(1, 5))
  await night(mirror, 1, [aCustomer(1, { name: 'Renamed' }), ...customers(2, 5)], { organization: 'globex' })
  const changed = await publishInto(bucket, aBucketPlan(mirror.file, { afterRuns: true }))

  expect(asked).toEqual(['GET', 'GET'])
  expect(same.bucket).toMatchObject({ isNew: false, generation: 1 })
  expect(changed.bucket?.organizations.map(({ isNew }) => isNew)).toEqual([false, true])
  expect(namedIn(bucket)).toEqual([acme, expect.stringContaining('organization=globex/customers-0000000002-')])
  const both = { organizations: [{ run: 3 }, { run: 4 }] }
  expect(manifestIn(bucket)).toMatchObject({ ...both, generation: 2, replaced: [{ object: globex }] })
  bucket.objects.delete(`${PREFIX}/${acme}`)
  await publishInto(bucket, aBucketPlan(mirror.file, { afterRuns: true }))
  expect(objectsIn(bucket)).toEqual(namedIn(bucket))
  expect(objectsIn(bucket)).toHaveLength(2)
})

test('after runs, rows of a run that did not reach the end of its list are not published; by hand they are', async () => {
  const mirror = await aMirrorOf(customers(1, 5))
  const bucket = await aBucketServer()
  const rows: unknown[] = []
  const publish = async (afterRuns: boolean) => {
    await publishInto(bucket, aBucketPlan(mirror.file, { afterRuns }))
    rows.push(manifestIn(bucket).organizations[0]?.rows)
  }
  await publish(true)
  await night(mirror, 1, customers(1, 9), { ending: { status: 'failed', readToEnd: false } })
  await publish(true)
  await quickRun(mirror, 1, [aCustomer(30)])
  await publish(true)
  tamper(mirror.file, 'DELETE FROM customers WHERE id = ?', customerId(1))
  await publish(true)
  await publish(false)

  expect(rows).toEqual([5, 5, 10, 10, 9])
})

test.each(['complete', 'failed'] as const)(
  'after the run of another organization, no object that is named holds a forgotten customer; the last run was %s',
  async (status) => {
    const mirror = await aMirrorOfTwo()
    const bucket = await aBucketServer()
    const after = aBucketPlan(mirror.file, { afterRuns: true })
    const ending = status === 'failed' ? { status, readToEnd: false } : {}
    await night(mirror, 1, customers(1, 5), { ending })
    await publishInto(bucket, after)
    await mirror.forgetCustomer({ organization: 'acme', id: customerId(3), nowMs: START_MS, monotonicMs: undefined })
    await night(mirror, 2, customers(1, 6), { organization: 'globex' })
    await publishInto(bucket, after)
    const again = await publishInto(bucket, after)

    expect(manifestIn(bucket).organizations.map(({ rows }) => rows)).toEqual([4, 6])
    expect(again.bucket?.organizations.map(({ isNew }) => isNew)).toEqual([false, false])
  },
)

test('without personal data no object holds any, those from before included', async () => {
  const mirror = await aMirrorOfNights()
  const bucket = await aBucketServer()
  const plan = aBucketPlan(mirror, { graceMs: 3_600_000 })
  await publishInto(bucket, plan)
  const before = namedIn(bucket)
  await publishInto(bucket, { ...plan, withoutPersonalData: true, afterRuns: true })
  const [row = {}] = await rowsIn(bucket, '*')

  expect(objectsIn(bucket)).toEqual(namedIn(bucket))
  expect(before.some((key) => objectsIn(bucket).includes(key))).toBe(false)
  const personal = publicColumns('customers').flatMap((column) => (column.personal ? [column.name] : []))
  expect(personal).toContain('email')
  expect(Object.keys(row).filter((name) => personal.includes(name))).toEqual([])
})

test('objects and uploads of other programs stay, and a manifest of another program is refused', async () => {
  const mirror = await aMirrorOfNights()
  const bucket = await aBucketServer()
  const others = ['customers/organization=acme/part-0.parquet', 'customers/notes.txt', 'notes.txt']
  for (const key of others) bucket.objects.set(`${PREFIX}/${key}`, Buffer.from('of another program'))
  bucket.uploads.set('foreign', { key: `${PREFIX}/customers/notes.parquet`, parts: new Map() })
  await publishInto(bucket, aBucketPlan(mirror))
  await publishInto(bucket, aBucketPlan(mirror, { withoutPersonalData: true }))
  const stayed = objectsIn(bucket)
  bucket.objects.set(`${PREFIX}/manifest.json`, Buffer.from('{"program": "another"}'))
  const refused = publishInto(bucket, aBucketPlan(mirror))

  expect(stayed).toEqual(expect.arrayContaining(others))
  expect(stayed.length).toBe(5)
  expect([...bucket.uploads.keys()]).toEqual(['foreign'])
  await expect(refused).rejects.toMatchObject({ code: 'usage' })
  expect(bucket.objects.get(`${PREFIX}/manifest.json`)?.toString()).toBe('{"program": "another"}')
})

test('a large organization goes in parts, and parts that were sent before a failure are removed', async () => {
  const mirror = await aMirrorOf(customers(1, 60))
  const bucket = await aBucketServer()
  const limits = { ...SOON, partBytes: 1000 }
  await publishInto(bucket, aBucketPlan(mirror.file), limits)
  const [acme] = manifestIn(bucket).organizations
  const content = bucket.objects.get(`${PREFIX}/${acme?.object}`) ?? Buffer.alloc(0)
  const parts = bucket.requests.filter(({ query }) => query.has('partNumber')).length
  bucket.fault = ({ query }, response) => query.get('partNumber') === '3' && refuse(response, 403, 'AccessDenied')
  const without = aBucketPlan(mirror.file, { withoutPersonalData: true })
  const denied = publishInto(bucket, without, { ...limits, partBytes: 500 })

  await expect(denied).rejects.toMatchObject({ code: 'usage' })
  expect(parts).toBe(Math.ceil(content.length / limits.partBytes))
  expect(parts).toBeGreaterThan(2)
  expect(createHash('sha256').update(content).digest('hex')).toBe(acme?.['sha256'])
  expect(bucket.uploads.size).toBe(0)
  expect(manifestIn(bucket).generation).toBe(1)
})

test('what a manifest replaces stays for its readers, and then goes, however often something changes', async () => {
  const mirror = await aMirror()
  const bucket = await aBucketServer()
  const plan = aBucketPlan(mirror.file)
  const waiting = { ...plan, graceMs: 3_600_000 }
  const named: string[] = []
  for (const n of [0, 1, 2]) {
    await night(mirror, n, customers(1, 5 + n))
    await publishInto(bucket, waiting)
    named.push(...namedIn(bucket))
  }
  const three = objectsIn(bucket)
  const same = await publishInto(bucket, waiting)
  await night(mirror, 3, customers(1, 8))
  await publishInto(bucket, plan)
  const next = objectsIn(bucket)
  const tidied = await publishInto(bucket, plan)

  expect(three).toEqual(named)
  expect(same.bucket).toMatchObject({ isNew: false, replaced: 2 })
  expect(next).toEqual([named[2], ...namedIn(bucket)])
  expect(tidied.bucket).toMatchObject({ isNew: true, replaced: 0 })
  expect(objectsIn(bucket)).toEqual(namedIn(bucket))
})

test('objects of organizations that were renamed, retired or forgotten, or of which a customer was, go at once', async () => {
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
  await mirror.forgetCustomer({ organization: 'hooli', id: customerId(31), nowMs: START_MS, monotonicMs: undefined })
  const { bucket: after } = await publishInto(bucket, plan)

  expect(after?.gone).toEqual(['acme', 'globex', 'initech'])
  expect(objectsIn(bucket)).toEqual(namedIn(bucket))
  expect(namedIn(bucket).join()).toMatch(/organization=acme-eu\/.*,.*organization=hooli\/[^,]*$/)
})
