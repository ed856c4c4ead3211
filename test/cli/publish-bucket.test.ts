import { appendFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { aBucketServer, type BucketServer } from '../support/bucket-server.ts'
import { runCli } from '../support/run-cli.ts'
import { aSandbox, aWorkplace, organizationsOf, type Workplace } from '../support/workplace.ts'

const TO = 's3://analytics/customer-mirror'

/** A workplace with a bucket that its configuration may name; `cli` runs a command there. */
async function aWorkplaceWithBucket(publish?: object, changed = {}) {
  const place: Workplace = aWorkplace(organizationsOf(await aSandbox({ customers: [12, 3] })))
  const bucket: BucketServer = await aBucketServer()
  if (publish !== undefined) appendFileSync(place.config, `publish: ${JSON.stringify(publish)}\n`)
  const env = { ...bucket.env, AWS_SHARED_CREDENTIALS_FILE: '/dev/null', AWS_CONFIG_FILE: '/dev/null', ...changed }
  return { bucket, mirror: place.mirror, cli: (...args: string[]) => runCli(args, { cwd: place.folder, env }) }
}

test.each([
  ['s3:/analytics/x', 'must be an address such as s3://bucket/prefix'],
  ['s3://', 'must be an address such as s3://bucket/prefix'],
  ['s3://analytics/a//b', 'names a prefix that not every program reads'],
])('publish %s is refused before anything is done', async (to, problem) => {
  const { bucket, cli } = await aWorkplaceWithBucket()
  const { code, stderr } = await cli('publish', to)

  expect(code).toBe(2)
  expect(stderr).toContain(`${to}: ${problem}`)
  expect(bucket.requests).toEqual([])
})
test('check asks the bucket of the configuration, and changes nothing there', async () => {
  const { bucket, cli } = await aWorkplaceWithBucket({ to: TO })
  const { code, stdout } = await cli('check')

  expect(code).toBe(0)
  expect(stdout).toContain(`✔ publish: ${TO} answered`)
  expect(bucket.requests.map(({ method, key }) => `${method} ${key}`)).toEqual(['GET '])
})

test.each([
  ['nonsense', 'must be an https URL such as'],
  ['http://minio.example.com', 'must be an https URL (plain http'],
  ['https://key:hidden@minio.example.com', 'must not hold a user name or password'],
])('an endpoint in the environment such as %s is a mistake that names its variable', async (endpoint, problem) => {
  const { cli } = await aWorkplaceWithBucket({ to: TO }, { AWS_ENDPOINT_URL_S3: endpoint })
  const { code, stdout } = await cli('check')

  expect(code).toBe(3)
  expect(stdout).toContain(`✖ publish: environment AWS_ENDPOINT_URL_S3 ${problem}`)
  expect(stdout).not.toContain('hidden')
})
