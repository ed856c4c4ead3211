import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { aBucketServer, manifestIn, namedIn, objectsIn } from '../support/bucket-server.ts'
import { eventually } from '../support/eventually.ts'
import { aGate } from '../support/gate.ts'
import { aJobsWorkplace } from '../support/jobs-workplace.ts'
import { rowsOf, valueOf } from '../support/mirror-file.ts'
import { published, SOON } from '../support/publishing.ts'
import { message, startWorker } from '../support/worker-log.ts'
import { aSandbox, organizationsOf } from '../support/workplace.ts'

test('a worker publishes into a bucket when the runs are over', async () => {
  const sandbox = await aSandbox({ customers: [50, 20] })
  const bucket = await aBucketServer()
  const place = aJobsWorkplace(organizationsOf(sandbox), {
    publish: { to: 's3://analytics/customer-mirror' },
  })
  for (const [name, value] of Object.entries(bucket.env)) vi.stubEnv(name, value)
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

test('a copy that cannot be made is reported, tried again later, and stops no run', async () => {
  const sandbox = await aSandbox({ customers: [30] })
  const place = aJobsWorkplace(organizationsOf(sandbox), { publish: { file: 'copies' } })
  const target = join(place.folder, 'copies')
  writeFileSync(target, 'notes of a person')
  const worker = startWorker(place, { timings: SOON })
  await worker.ran('acme')
  const { failure } = await worker.said(message('copy not published'))
  rmSync(target)
  await worker.said(published)

  expect(failure).toMatchObject({
    code: 'usage',
    message: expect.stringContaining('was not published by this program'),
  })
  expect(valueOf(target, 'SELECT count(*) FROM customers')).toBe(30)
})

test('while a run is under way nothing is published, until that takes too long', async () => {
  const gate = aGate({ fromPage: 2 })
  const sandbox = await aSandbox({ customers: [300, 5], intercept: gate.intercept })
  const place = aJobsWorkplace(organizationsOf(sandbox, { concurrency: 1 }), { publish: { file: 'copies/x.db' } })
  const file = join(place.folder, 'copies', 'x.db')
  const worker = startWorker(place, { timings: { ...SOON, publishLatestMs: 1500 } })
  await gate.reached
  await worker.ran('globex')
  await worker.said(published)
  const early = rowsOf(file, 'SELECT organization, left_out, customers FROM manifest ORDER BY 1')
  gate.open()
  await worker.ran('acme')
  await expect.poll(() => valueOf(file, 'SELECT count(*) FROM customers')).toBe(305)

  expect(early).toEqual([
    { organization: 'acme', left_out: 'never-read', customers: null },
    { organization: 'globex', left_out: null, customers: 5 },
  ])
})
