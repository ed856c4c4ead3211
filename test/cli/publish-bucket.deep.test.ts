import { appendFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { aBucketServer, type BucketServer, manifestIn, namedIn, objectsIn, refuse } from '../support/bucket-server.ts'
import { valueOf } from '../support/mirror-file.ts'
import { runCli } from '../support/run-cli.ts'
import { aSandbox, aWorkplace, organizationsOf, type Workplace } from '../support/workplace.ts'

const TO = 's3://analytics/customer-mirror'

/** A workplace with a bucket that its configuration may name; `cli` runs a command there. */
async function aWorkplaceWithBucket(publish?: object) {
  const place: Workplace = aWorkplace(organizationsOf(await aSandbox({ customers: [12, 3] })))
  const bucket: BucketServer = await aBucketServer()
  if (publish !== undefined) appendFileSync(place.config, `publish: ${JSON.stringify(publish)}\n`)
  const env = { ...bucket.env, AWS_SHARED_CREDENTIALS_FILE: '/dev/null', AWS_CONFIG_FILE: '/dev/null' }
  return { bucket, mirror: place.mirror, cli: (...args: string[]) => runCli(args, { cwd: place.folder, env }) }
}

test('publish writes into the bucket that is named, and a secret stands nowhere', async () => {
  const { bucket, cli } = await aWorkplaceWithBucket()
  expect(await cli('sync')).toMatchObject({ code: 0 })
  const first = await cli('publish', TO)
  const again = await cli('publish', `${TO}/`, '--json')

  expect(first).toMatchObject({
    code: 0,
    stderr: '',
    stdout: `Objects for readers: ${TO} (2 organizations, 15 customers; 2 objects written)\n`,
  })
  expect(JSON.parse(again.stdout)).toMatchObject({
    copies: [],
    failed: [],
    bucket: { to: TO, isNew: false, organizations: [{ organization: 'acme', isNew: false, customers: 12 }, {}] },
  })
  expect(objectsIn(bucket)).toEqual(namedIn(bucket))
  expect([first, again].map(({ stdout }) => stdout).join()).not.toMatch(/AKIAEXAMPLE|a secret/)
})

test('sync publishes into the bucket of the configuration, and its exit code counts what could not be published', async () => {
  const { bucket, cli } = await aWorkplaceWithBucket({ to: TO })
  const whole = await cli('sync', '--json')
  bucket.fault = (_, response) => {
    refuse(response, 403, 'AccessDenied')
    return true
  }
  const denied = await cli('sync')

  expect(whole.code).toBe(0)
  expect(JSON.parse(whole.stdout).published).toMatchObject({ bucket: { to: TO, isNew: true } })
  expect(manifestIn(bucket).organizations.map(({ rows }) => rows)).toEqual([12, 3])
  expect(denied.code).toBe(2)
  expect(denied.stderr).toContain(`✖ The copy for readers was not finished. ${TO} at `)
})

test('check asks the bucket, and reports one that refuses with what to do', async () => {
  const { bucket, cli } = await aWorkplaceWithBucket({ to: TO })
  expect(await cli('sync', 'acme')).toMatchObject({ code: 0 })
  bucket.requests.length = 0
  const good = await cli('check')
  const asked = bucket.requests.map(({ method, key, query }) => [method, key, query.get('prefix')])
  bucket.fault = (_, response) => {
    refuse(response, 403, 'AccessDenied')
    return true
  }
  const denied = await cli('check')

  expect(asked).toEqual([['GET', '', 'customer-mirror/customers/']])
  expect(good).toMatchObject({ code: 0, stdout: expect.stringContaining(`✔ publish: ${TO} answered`) })
  expect(denied).toMatchObject({
    code: 3,
    stdout: expect.stringMatching(
      new RegExp(`✖ publish: ${TO} at .*: the service refused a request \\(ListObjectsV2, AccessDenied, 403\\)`),
    ),
  })
})

test('forget names the bucket among the places that may still hold the customer', async () => {
  const { cli, mirror } = await aWorkplaceWithBucket({ to: TO })
  expect(await cli('sync')).toMatchObject({ code: 0 })
  const { stdout } = await cli('forget', 'acme', String(valueOf(mirror, 'SELECT id FROM customers LIMIT 1')), '--json')

  expect(JSON.parse(stdout).copies).toEqual([TO])
})
