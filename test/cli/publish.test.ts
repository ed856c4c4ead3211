import { appendFileSync, existsSync, mkdirSync, readdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { aBucketServer, type BucketServer, manifestIn, namedIn, objectsIn, refuse } from '../support/bucket-server.ts'
import { aDuckDb } from '../support/exported-files.ts'
import { rowsOf, tamper, valueOf } from '../support/mirror-file.ts'
import { runCli } from '../support/run-cli.ts'
import { aSandbox, aWorkplace, organizationsOf } from '../support/workplace.ts'

const OUR_GROUP = process.getgid?.() ?? 0

/** A mirror of two organizations whose configuration says where to publish it. */
async function aPlace(publish?: object, env: Record<string, string> = {}) {
  const place = aWorkplace(organizationsOf(await aSandbox({ customers: [12, 3] })))
  const run = (...args: string[]) => runCli(args, { cwd: place.folder, env })
  expect(await run('sync')).toMatchObject({ code: 0 })
  if (publish !== undefined) appendFileSync(place.config, `publish: ${JSON.stringify(publish)}\n`)
  return { ...place, run, readers: join(place.folder, 'copies', 'x.db') }
}

test('publishes to the file that is named, relative to where the command runs', async () => {
  const { run, readers: file } = await aPlace()

  expect(await run('publish', 'copies/x.db')).toMatchObject({
    code: 0,
    stderr: expect.stringMatching(/^! \S+x\.db: only its owner may read it; .* publish\.group\b/),
    stdout: `Copy for readers: ${file} (2 organizations, 15 customers)\n`,
  })
  expect(valueOf(file, 'SELECT count(*) FROM customers')).toBe(15)
  expect([file, dirname(file)].map((path) => statSync(path).mode & 0o777)).toEqual([0o440, 0o750])
})

test('publishes as configured, and prints what it did as JSON', async () => {
  const { config, folder } = await aPlace({ file: 'copies/x-{organization}.db', keep: 1 })
  const { code, stdout } = await runCli(['publish', '--json', '--config', config], { cwd: '/' })

  expect(code).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({
    ...{ schemaVersion: 1, leftOut: [], failed: [] },
    copies: [
      { file: join(folder, 'copies/x-acme.db'), organizations: [{ organization: 'acme', customers: 12, active: 12 }] },
      { file: join(folder, 'copies/x-globex.db'), organizations: [{ organization: 'globex', customers: 3 }] },
    ],
  })
})

test('makes the copy, and a Parquet file for each organization, which the next one replaces', async () => {
  const { run, folder, mirror, readers } = await aPlace({
    file: 'copies/x.db',
    parquet: 'copies/parquet',
    group: OUR_GROUP,
  })
  const parquet = join(folder, 'copies', 'parquet')
  const rows = `SELECT organization, count(*) AS rows, any_value(typeof(id)) AS type FROM read_parquet('${parquet}/*/*.parquet',
    hive_partitioning = true) GROUP BY organization ORDER BY 1`
  const { code, stdout, stderr } = await run('publish')

  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toContain(`Parquet for readers: ${parquet} (2 organizations, 15 customers; 2 objects written)\n`)
  expect(valueOf(readers, 'SELECT count(*) FROM customers')).toBe(15)
  expect(await (await aDuckDb()).all(rows)).toMatchObject([
    { organization: 'acme', rows: '12', type: 'VARCHAR' },
    { organization: 'globex', rows: '3' },
  ])
  const part = join(parquet, 'organization=acme', 'part-0.parquet')
  expect([part, dirname(part)].map((path) => statSync(path).mode & 0o777)).toEqual([0o440, 0o750])

  tamper(mirror, `DELETE FROM customers WHERE id = (SELECT min(id) FROM customers WHERE organization = 'acme')`)
  expect(await run('publish')).toMatchObject({ code: 0 })
  expect(await (await aDuckDb()).all(rows)).toMatchObject([{ rows: '11' }, { rows: '3' }])
  expect(readdirSync(parquet).toSorted()).toEqual(['_manifest.json', 'organization=acme', 'organization=globex'])
})

test('keeps no place from being published because of another one', async () => {
  const { run, readers } = await aPlace({ file: 'copies/x.db', parquet: 'copies/parquet' })
  mkdirSync(readers, { recursive: true })
  const { code, stdout, stderr } = await run('publish')

  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('x.db: is a folder') })
  expect(stdout).toContain('Parquet for readers: ')
})

test('sync publishes once after all organizations and says so; a dry run publishes nothing', async () => {
  const { run, readers } = await aPlace({ file: './copies/x.db', keep: 5 })
  expect(await run('sync', '--dry-run')).toMatchObject({ code: 0 })
  expect(existsSync(dirname(readers))).toBe(false)
  const { code, stdout } = await run('sync')

  expect(code).toBe(0)
  expect(stdout).toContain(`Copy for readers: ${readers} (2 organizations, 15 customers)\n`)
  expect(readdirSync(dirname(readers)).toSorted()).toEqual(['metadata.json', 'x.db'])
  const done = { last_status: 'complete' }
  expect(rowsOf(readers, 'SELECT last_status FROM manifest')).toEqual([done, done])
})

test('a copy that cannot be made is said, and ends a sync of complete runs with its own code', async () => {
  const { run } = await aPlace({ file: './copies/x.db', group: 'no-such-group' })
  const { code, stdout, stderr } = await run('sync', '--json')

  expect(code).toBe(2)
  expect(stderr).toContain('✖ The copy for readers was not finished. publish.group: there is no group no-such-group')
  expect(JSON.parse(stdout)).toMatchObject({
    runs: [{ status: 'complete' }, { status: 'complete' }],
    published: { copies: [], failed: [{ code: 'usage' }] },
  })
})

const TO = 's3://analytics/customer-mirror'

/** The same with a bucket, in which nothing is yet. */
async function aPlaceWithBucket(publish?: object, changed = {}) {
  const bucket: BucketServer = await aBucketServer()
  const nowhere = { AWS_SHARED_CREDENTIALS_FILE: '/dev/null', AWS_CONFIG_FILE: '/dev/null' }
  return { ...(await aPlace(publish, { ...bucket.env, ...nowhere, ...changed })), bucket }
}

test('writes into the bucket that is named, and a secret stands nowhere', async () => {
  const { bucket, run } = await aPlaceWithBucket()
  const first = await run('publish', TO)
  const again = await run('publish', `${TO}/`, '--json')

  expect(first).toMatchObject({
    ...{ code: 0, stderr: '' },
    stdout: `Objects for readers: ${TO} (2 organizations, 15 customers; 2 objects written)\n`,
  })
  expect(JSON.parse(again.stdout)).toMatchObject({
    ...{ copies: [], failed: [] },
    bucket: { to: TO, isNew: false, organizations: [{ organization: 'acme', isNew: false, customers: 12 }, {}] },
  })
  expect(objectsIn(bucket)).toEqual(namedIn(bucket))
  expect(first.stdout + again.stdout).not.toMatch(/AKIAEXAMPLE|a secret/)
})

test('sync publishes into the bucket; a refusal is in its exit code, and in check; forget names the bucket', async () => {
  const { bucket, run, mirror } = await aPlaceWithBucket({ to: TO })
  const whole = await run('sync', '--json')
  const rows = manifestIn(bucket).organizations.map((each) => each.rows)
  bucket.requests.length = 0
  const good = await run('check')
  const asked = bucket.requests.map(({ method, key, query }) => [method, key, query.get('prefix')])
  bucket.fault = (_, response) => {
    refuse(response, 403, 'AccessDenied')
    return true
  }
  const denied = [await run('sync'), await run('check')]
  const { stdout } = await run('forget', 'acme', String(valueOf(mirror, 'SELECT id FROM customers LIMIT 1')), '--json')

  expect({ code: whole.code, rows, asked }).toEqual({
    code: 0,
    rows: [12, 3],
    asked: [['GET', '', 'customer-mirror/customers/']],
  })
  expect(JSON.parse(whole.stdout).published).toMatchObject({ bucket: { to: TO, isNew: true } })
  expect(good).toMatchObject({ code: 0, stdout: expect.stringContaining(`✔ publish: ${TO} answered`) })
  expect(denied).toMatchObject([
    { code: 2, stderr: expect.stringContaining(`✖ The copy for readers was not finished. ${TO} at `) },
    {
      code: 3,
      stdout: expect.stringMatching(
        /✖ publish: s3:.*: the service refused a request \(ListObjectsV2, AccessDenied, 403\)/,
      ),
    },
  ])
  expect(JSON.parse(stdout).copies).toEqual([TO])
})
