import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { aGate } from '../../support/gate.ts'
import { aJobsWorkplace } from '../../support/jobs-workplace.ts'
import { rowsOf, valueOf } from '../../support/mirror-file.ts'
import { runCli } from '../../support/run-cli.ts'
import { startWorker } from '../../support/worker-here.ts'
import { message } from '../../support/worker-log.ts'
import { aSandbox, organizationsOf } from '../../support/workplace.ts'

const SOON = { publishLookMs: 20, publishQuietMs: 200, publishLatestMs: 3_600_000, publishRestMs: 100 }
const published = message('copy published')

test('a worker publishes when the runs of all organizations are over', async () => {
  const sandbox = await aSandbox({ customers: [50, 20, 3] })
  const place = aJobsWorkplace(organizationsOf(sandbox), { publish: { file: 'copies/x.db', keep: 9 } })
  const file = join(place.folder, 'copies', 'x.db')
  const worker = startWorker(place, { timings: SOON })
  await Promise.all(sandbox.organizations.map(({ id }) => worker.ran(id)))
  await eventually(
    () => (existsSync(file) ? valueOf(file, 'SELECT count(*) FROM customers') : 0),
    (customers) => customers === 73,
  )

  expect(rowsOf(file, 'SELECT organization, last_status FROM manifest')).toMatchObject([
    { organization: 'acme', last_status: 'complete' },
    { organization: 'globex', last_status: 'complete' },
    { organization: 'initech', last_status: 'complete' },
  ])
  expect(worker.lines.join('\n')).not.toContain('@example')
})

test('a worker that starts makes the copy that an earlier one did not live to make', async () => {
  const sandbox = await aSandbox({ customers: [30] })
  const place = aJobsWorkplace(organizationsOf(sandbox), { publish: { file: 'copies/x.db' } })
  const file = join(place.folder, 'copies', 'x.db')
  expect(await runCli(['sync'], { cwd: place.folder })).toMatchObject({ code: 0 })
  rmSync(file)
  const worker = startWorker(place, { timings: SOON })
  await worker.said(published)

  expect(rowsOf(file, 'SELECT organization, run_id, customers FROM manifest')).toEqual([
    { organization: 'acme', run_id: 1, customers: 30 },
  ])
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
  await eventually(
    () => valueOf(file, 'SELECT count(*) FROM customers'),
    (customers) => customers === 305,
  )

  expect(early).toEqual([
    { organization: 'acme', left_out: 'never-read', customers: null },
    { organization: 'globex', left_out: null, customers: 5 },
  ])
})
