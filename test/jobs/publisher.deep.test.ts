import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { aJobsWorkplace } from '../support/jobs-workplace.ts'
import { valueOf } from '../support/mirror-file.ts'
import { published, SOON } from '../support/publishing.ts'
import { message, startWorker } from '../support/worker-log.ts'
import { aSandbox, organizationsOf } from '../support/workplace.ts'

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
