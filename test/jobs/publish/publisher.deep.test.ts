import { expect, test, vi } from 'vitest'
import { manifestIn, namedIn, objectsIn } from '../../support/bucket-publishing.ts'
import { aBucketServer } from '../../support/bucket-server.ts'
import { eventually } from '../../support/eventually.ts'
import { aJobsWorkplace } from '../../support/jobs-workplace.ts'
import { startWorker } from '../../support/worker-here.ts'
import { message } from '../../support/worker-log.ts'
import { aSandbox, organizationsOf } from '../../support/workplace.ts'

const SOON = { publishLookMs: 20, publishQuietMs: 200, publishLatestMs: 3_600_000, publishRestMs: 100 }

test('a worker publishes into a bucket when the runs are over', async () => {
  const sandbox = await aSandbox({ customers: [50, 20] })
  const bucket = await aBucketServer()
  const { AWS_ENDPOINT_URL_S3: endpoint, ...env } = bucket.env
  const place = aJobsWorkplace(organizationsOf(sandbox), {
    publish: { to: 's3://analytics/customer-mirror', endpoint },
  })
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value)
  try {
    const worker = startWorker(place, { timings: SOON })
    await Promise.all(sandbox.organizations.map(({ id }) => worker.ran(id)))
    const said = await worker.said(message('bucket published'))
    await eventually(
      () =>
        bucket.objects.has('customer-mirror/manifest.json')
          ? manifestIn(bucket)
              .organizations.map(({ rows }) => rows)
              .join()
          : '',
      (rows) => rows === '50,20',
    )

    expect(said).toMatchObject({ to: 's3://analytics/customer-mirror', generation: 1, gone: [] })
    expect(objectsIn(bucket)).toEqual(namedIn(bucket))
    expect(worker.lines.join('\n')).not.toMatch(/AKIAEXAMPLE|a secret of a bucket|@example/)
  } finally {
    vi.unstubAllEnvs()
  }
})
